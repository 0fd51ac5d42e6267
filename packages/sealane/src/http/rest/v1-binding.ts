import { type State, STATES } from '#domain';
import { ERRORS, errorDetailsOf, type Protocol, type RestRoute, STATE_NAMES } from '#protocol';

import type { ErrorWording } from '../error-replies.ts';
import type { RestBinding } from './rest-binding.ts';

const CONTENT_TYPE = 'application/a2a+json';

/** Errors in Google's form (AIP-193), as A2A 1.0 §11.6 has it. */
const asRestError: ErrorWording = {
  contentType: CONTENT_TYPE,
  // §5.4 of 1.0.1 has 400 where 1.0.0 had 415, for bodies of a wrong type too.
  statusOf: ({ code }) => ERRORS[code].http,
  encode: (error, status) =>
    JSON.stringify({
      error: { code: status, status: ERRORS[error.code].grpc, message: error.message, details: errorDetailsOf(error) },
    }),
};

const isState = (name: unknown): name is State => STATES.some((state) => state === name);

/** A2A 1.0, §11.3. Subscribe is GET in the proto and POST in the text. */
const ROUTES: readonly RestRoute[] = [
  { verb: 'POST', path: '/message:send', method: 'SendMessage', body: 'required' },
  { verb: 'POST', path: '/message:stream', method: 'SendStreamingMessage', body: 'required' },
  {
    verb: 'GET',
    path: '/tasks',
    method: 'ListTasks',
    query: {
      contextId: 'text',
      status: 'text',
      pageSize: 'integer',
      pageToken: 'text',
      historyLength: 'integer',
      statusTimestampAfter: 'text',
      includeArtifacts: 'flag',
    },
    // The specification's own example writes a state as `working`.
    decode: ({ status, ...rest }) => ({ ...rest, status: isState(status) ? STATE_NAMES[status] : status }),
  },
  { verb: 'GET', path: '/tasks/{id}', method: 'GetTask', query: { historyLength: 'integer' } },
  { verb: 'POST', path: '/tasks/{id}:cancel', method: 'CancelTask', body: 'optional' },
  { verb: 'GET', path: '/tasks/{id}:subscribe', method: 'SubscribeToTask' },
  { verb: 'POST', path: '/tasks/{id}:subscribe', method: 'SubscribeToTask', body: 'optional' },
  {
    verb: 'POST',
    path: '/tasks/{taskId}/pushNotificationConfigs',
    method: 'CreateTaskPushNotificationConfig',
    body: 'required',
  },
  {
    verb: 'GET',
    path: '/tasks/{taskId}/pushNotificationConfigs',
    method: 'ListTaskPushNotificationConfigs',
    query: { pageSize: 'integer', pageToken: 'text' },
  },
  { verb: 'GET', path: '/tasks/{taskId}/pushNotificationConfigs/{id}', method: 'GetTaskPushNotificationConfig' },
  { verb: 'DELETE', path: '/tasks/{taskId}/pushNotificationConfigs/{id}', method: 'DeleteTaskPushNotificationConfig' },
  { verb: 'GET', path: '/extendedAgentCard', method: 'GetExtendedAgentCard' },
];

/** A2A 1.0 over plain HTTP, and beside it the addresses of the extensions. */
export const createV1Binding = ({
  v1,
  extensions,
  extensionRoutes,
}: Pick<Protocol, 'v1' | 'extensions' | 'extensionRoutes'>): RestBinding => ({
  prefix: '',
  hasTenants: true,
  versions: v1.versions,
  contentType: CONTENT_TYPE,
  extensionsHeader: 'a2a-extensions',
  errors: asRestError,
  routes: [...ROUTES, ...extensionRoutes],
  findMethod: (name) => v1.methods.get(name) ?? extensions.methods.get(name),
});
