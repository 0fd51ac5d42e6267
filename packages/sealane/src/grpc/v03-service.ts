import { LegacyA2AService } from '@a2a-js/sdk/compat/v0_3/server/grpc';

import type { Dialect } from '#protocol';
import {
  protoCardOf,
  protoEventOf,
  protoPushConfigOf,
  protoPushConfigsOf,
  protoResultOf,
  protoTaskOf,
  pushNameOfProto,
  pushSettingOfProto,
  pushTaskOfProto,
  sendParamsOfProto,
  taskParamsOfProto,
} from '#protocol/v03/proto-json';

import { jsonOf, messageOf, type Shape } from './message-shape.ts';
import { joinCodecs, type Rpc, type RpcService, type WireDefinition } from './rpc-service.ts';
import {
  CARD,
  NAMED,
  NOTHING,
  PUSH_CONFIG,
  PUSH_CONFIGS,
  PUSH_SETTING,
  RESPONSE,
  SEND_REQUEST,
  TASK,
} from './v03-messages.ts';

type Members = Record<string, unknown>;
type Codec = Omit<Rpc, 'run'>;

/** How an rpc's request becomes the params of a method of 0.3, and the method's answer the rpc's response. */
interface Translation {
  readonly request: Shape;
  readonly params: (json: Members) => unknown;
  readonly response: Shape;
  readonly answer: (result: unknown) => unknown;
}

const translate = <Request, Response>(
  method: string,
  definition: WireDefinition<Request, Response>,
  { request, params, response, answer }: Translation,
): Codec => ({
  method,
  ...joinCodecs(
    definition,
    (message) => params(jsonOf(request, message as Members)),
    (text) => messageOf(response, answer(JSON.parse(text)) as Members) as Response,
  ),
});

const SEND = { request: SEND_REQUEST, params: sendParamsOfProto };
const NAMED_TASK = { request: NAMED, params: taskParamsOfProto };
const NAMED_WEBHOOK = { request: NAMED, params: pushNameOfProto };
const EVENT = { response: RESPONSE, answer: protoEventOf };
const WHOLE_TASK = { response: TASK, answer: protoTaskOf };
const WEBHOOK = { response: PUSH_CONFIG, answer: protoPushConfigOf };

const {
  sendMessage,
  sendStreamingMessage,
  getTask,
  cancelTask,
  taskSubscription,
  createTaskPushNotificationConfig,
  getTaskPushNotificationConfig,
  listTaskPushNotificationConfig,
  deleteTaskPushNotificationConfig,
  getAgentCard,
} = LegacyA2AService;

const RPCS: readonly Codec[] = [
  translate('message/send', sendMessage, { ...SEND, response: RESPONSE, answer: protoResultOf }),
  translate('message/stream', sendStreamingMessage, { ...SEND, ...EVENT }),
  translate('tasks/get', getTask, { ...NAMED_TASK, ...WHOLE_TASK }),
  translate('tasks/cancel', cancelTask, { ...NAMED_TASK, ...WHOLE_TASK }),
  translate('tasks/resubscribe', taskSubscription, { ...NAMED_TASK, ...EVENT }),
  translate('tasks/pushNotificationConfig/set', createTaskPushNotificationConfig, {
    request: PUSH_SETTING,
    params: (json) => pushSettingOfProto(json),
    ...WEBHOOK,
  }),
  translate('tasks/pushNotificationConfig/get', getTaskPushNotificationConfig, { ...NAMED_WEBHOOK, ...WEBHOOK }),
  translate('tasks/pushNotificationConfig/list', listTaskPushNotificationConfig, {
    request: NAMED,
    params: pushTaskOfProto,
    response: PUSH_CONFIGS,
    answer: protoPushConfigsOf,
  }),
  translate('tasks/pushNotificationConfig/delete', deleteTaskPushNotificationConfig, {
    ...NAMED_WEBHOOK,
    response: NOTHING,
    answer: () => ({}),
  }),
  translate('agent/getAuthenticatedExtendedCard', getAgentCard, {
    request: NOTHING,
    params: (json) => json,
    response: CARD,
    answer: protoCardOf,
  }),
];

/** `a2a.v1.A2AService`: the gRPC service of A2A 0.3, over the same methods as its JSON-RPC. */
export const createV03Service = ({ versions, methods }: Dialect): RpcService => ({
  versions,
  extensionsHeader: 'x-a2a-extensions',
  // What 0.3 calls them; its clients know these errors by nothing else.
  statuses: { 'push-not-supported': 'UNIMPLEMENTED', 'unsupported-operation': 'UNIMPLEMENTED' },
  rpcs: RPCS.map((codec) => {
    const run = methods.get(codec.method);
    if (run === undefined) throw new Error(`The protocol has no method ${codec.method}.`);
    return { ...codec, run };
  }),
});
