import { ERRORS, type Fields, invalid, type Protocol, type RestRoute } from '#protocol';
import {
  protoEventOf,
  protoPageOf,
  protoPushConfigOf,
  protoPushConfigsOf,
  protoResultOf,
  protoTaskOf,
  pushSettingOfProto,
  restCardOf,
  sendParamsOfProto,
  stateOfProto,
} from '#protocol/v03/proto-json';
import { encodeV03Error } from '#protocol/v03/v03-errors';

import type { ErrorWording } from '../error-replies.ts';
import type { RestBinding } from './rest-binding.ts';

const CONTENT_TYPE = 'application/json';

/** The errors of 0.3 by the names that its test kit looks for; clients read the code. */
const NAMES: Readonly<Record<number, string>> = {
  [-32001]: 'TaskNotFoundError',
  [-32002]: 'TaskNotCancelableError',
  [-32003]: 'PushNotificationNotSupportedError',
  [-32004]: 'UnsupportedOperationError',
  [-32005]: 'ContentTypeNotSupportedError',
  [-32006]: 'InvalidAgentResponseError',
  [-32007]: 'AuthenticatedExtendedCardNotConfiguredError',
  [-32600]: 'InvalidRequestError',
  [-32601]: 'MethodNotFoundError',
  [-32602]: 'InvalidParamsError',
  [-32603]: 'InternalError',
  [-32700]: 'JSONParseError',
};

/** The error of JSON-RPC, without an envelope. */
const asV03RestError: ErrorWording = {
  contentType: CONTENT_TYPE,
  encode: (error) => {
    const name = NAMES[ERRORS[error.code].jsonRpc];
    const body = JSON.parse(encodeV03Error(error)) as object;
    return JSON.stringify({ ...body, ...(name !== undefined && { error: name }) });
  },
};

/** Clients that repeat the address in the body name the task as a resource. */
const taskOnly = ({ id, name, metadata }: Fields): Fields => {
  if (name !== undefined && name !== '' && name !== `tasks/${String(id)}`) {
    throw invalid('name', 'is another task than the address says: leave it out.');
  }
  return { id, ...(metadata !== undefined && { metadata }) };
};

const CONFIG = '/tasks/{id}/pushNotificationConfigs/{pushNotificationConfigId}';

const ROUTES: readonly RestRoute[] = [
  {
    verb: 'POST',
    path: '/message:send',
    method: 'message/send',
    body: 'required',
    decode: sendParamsOfProto,
    encode: protoResultOf,
  },
  {
    verb: 'POST',
    path: '/message:stream',
    method: 'message/stream',
    body: 'required',
    decode: sendParamsOfProto,
    encode: protoEventOf,
  },
  {
    verb: 'GET',
    path: '/tasks',
    method: 'tasks/list',
    query: {
      contextId: 'text',
      status: 'text',
      pageSize: 'integer',
      pageToken: 'text',
      historyLength: 'integer',
      includeArtifacts: 'flag',
    },
    decode: ({ status, ...rest }) => ({ ...rest, status: stateOfProto(status) }),
    encode: protoPageOf,
  },
  {
    verb: 'GET',
    path: '/tasks/{id}',
    method: 'tasks/get',
    query: { historyLength: 'integer' },
    encode: protoTaskOf,
  },
  {
    verb: 'POST',
    path: '/tasks/{id}:cancel',
    method: 'tasks/cancel',
    body: 'optional',
    decode: taskOnly,
    encode: protoTaskOf,
  },
  { verb: 'GET', path: '/tasks/{id}:subscribe', method: 'tasks/resubscribe', encode: protoEventOf },
  {
    verb: 'POST',
    path: '/tasks/{id}:subscribe',
    method: 'tasks/resubscribe',
    body: 'optional',
    decode: taskOnly,
    encode: protoEventOf,
  },
  {
    verb: 'POST',
    path: '/tasks/{id}/pushNotificationConfigs',
    method: 'tasks/pushNotificationConfig/set',
    body: 'required',
    decode: (params) => pushSettingOfProto(params, String(params['id'])),
    encode: protoPushConfigOf,
  },
  {
    verb: 'GET',
    path: '/tasks/{id}/pushNotificationConfigs',
    method: 'tasks/pushNotificationConfig/list',
    encode: protoPushConfigsOf,
  },
  { verb: 'GET', path: CONFIG, method: 'tasks/pushNotificationConfig/get', encode: protoPushConfigOf },
  { verb: 'DELETE', path: CONFIG, method: 'tasks/pushNotificationConfig/delete', encode: () => ({}) },
  { verb: 'GET', path: '/card', method: 'agent/getAuthenticatedExtendedCard', encode: restCardOf },
];

/** A2A 0.3 over plain HTTP: ProtoJSON of the package `a2a.v1`, under `/v1`. It knows no tenants. */
export const createV03Binding = ({ v03 }: Pick<Protocol, 'v03'>): RestBinding => ({
  prefix: '/v1',
  hasTenants: false,
  versions: v03.versions,
  contentType: CONTENT_TYPE,
  extensionsHeader: 'x-a2a-extensions',
  errors: asV03RestError,
  routes: ROUTES,
  findMethod: (name) => v03.methods.get(name),
});
