import {
  AgentCard,
  CancelTaskRequest,
  DeleteTaskPushNotificationConfigRequest,
  GetExtendedAgentCardRequest,
  GetTaskPushNotificationConfigRequest,
  GetTaskRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponse,
  ListTasksRequest,
  ListTasksResponse,
  type MessageFns,
  SendMessageRequest,
  SendMessageResponse,
  StreamResponse,
  SubscribeToTaskRequest,
  Task,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk';
import { A2AService } from '@a2a-js/sdk/server/grpc';

import type { Dialect } from '#protocol';

import { keepNullData } from './null-data.ts';
import { joinCodecs, type Rpc, type RpcService, type WireDefinition } from './rpc-service.ts';

type Codec = Pick<Rpc, 'path' | 'isStream' | 'decode' | 'encode'>;

const join = <Request, Response>(
  definition: WireDefinition<Request, Response>,
  request: Pick<MessageFns<Request>, 'toJSON'>,
  response: Pick<MessageFns<Response>, 'fromJSON'>,
): Codec =>
  joinCodecs(
    definition,
    (message) => request.toJSON(message),
    (text) => keepNullData(text, response),
  );

const Empty = { fromJSON: () => ({}) };

const RPCS: readonly Codec[] = [
  join(A2AService.sendMessage, SendMessageRequest, SendMessageResponse),
  join(A2AService.sendStreamingMessage, SendMessageRequest, StreamResponse),
  join(A2AService.getTask, GetTaskRequest, Task),
  join(A2AService.listTasks, ListTasksRequest, ListTasksResponse),
  join(A2AService.cancelTask, CancelTaskRequest, Task),
  join(A2AService.subscribeToTask, SubscribeToTaskRequest, StreamResponse),
  join(A2AService.createTaskPushNotificationConfig, TaskPushNotificationConfig, TaskPushNotificationConfig),
  join(A2AService.getTaskPushNotificationConfig, GetTaskPushNotificationConfigRequest, TaskPushNotificationConfig),
  join(
    A2AService.listTaskPushNotificationConfigs,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
  ),
  join(A2AService.deleteTaskPushNotificationConfig, DeleteTaskPushNotificationConfigRequest, Empty),
  join(A2AService.getExtendedAgentCard, GetExtendedAgentCardRequest, AgentCard),
];

/** `lf.a2a.v1.A2AService`: its rpcs are named like the methods of A2A 1.0 and take and give the same messages. */
export const createV1Service = ({ versions, methods }: Dialect): RpcService => ({
  versions,
  extensionsHeader: 'a2a-extensions',
  statuses: {},
  rpcs: RPCS.map((codec) => {
    const method = codec.path.slice(codec.path.lastIndexOf('/') + 1);
    const run = methods.get(method);
    if (run === undefined) throw new Error(`The protocol has no method ${method}.`);
    return { ...codec, method, run };
  }),
});
