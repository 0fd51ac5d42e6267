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
  SendMessageRequest,
  SendMessageResponse,
  StreamResponse,
  SubscribeToTaskRequest,
  Task,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk';
import { decodeErrorInfo, decodeStatus } from '@a2a-js/sdk/errors/grpc';
import { A2AService } from '@a2a-js/sdk/server/grpc';
import { Client, credentials, Metadata, type MethodDefinition, type ServiceError } from '@grpc/grpc-js';

import {
  type Answer,
  type CallOptions,
  type Driver,
  headersOf,
  type Item,
  type Operation,
  type Params,
  type Refusal,
  streamOf,
} from './driver.ts';

/** An rpc with its JSON on both sides. */
interface Rpc {
  readonly path: string;
  readonly encode: (params: Params) => Buffer;
  readonly decode: (bytes: Buffer) => unknown;
}

const rpcOf = <Request, Response>(
  { path, requestSerialize, responseDeserialize }: MethodDefinition<Request, Response>,
  request: { fromJSON(json: unknown): Request },
  response: { toJSON(message: Response): unknown },
): Rpc => ({
  path,
  encode: (params) => requestSerialize(request.fromJSON(params)),
  decode: (bytes) => response.toJSON(responseDeserialize(bytes)),
});

/** Protobuf sends no empty values, but a page has all its members in JSON. */
const Page = {
  toJSON: (page: ListTasksResponse) => ({
    tasks: [],
    nextPageToken: '',
    totalSize: 0,
    ...(ListTasksResponse.toJSON(page) as object),
  }),
};
const Nothing = { toJSON: () => ({}) };

const RPCS: Readonly<Record<Operation, Rpc>> = {
  SendMessage: rpcOf(A2AService.sendMessage, SendMessageRequest, SendMessageResponse),
  SendStreamingMessage: rpcOf(A2AService.sendStreamingMessage, SendMessageRequest, StreamResponse),
  GetTask: rpcOf(A2AService.getTask, GetTaskRequest, Task),
  ListTasks: rpcOf(A2AService.listTasks, ListTasksRequest, Page),
  CancelTask: rpcOf(A2AService.cancelTask, CancelTaskRequest, Task),
  SubscribeToTask: rpcOf(A2AService.subscribeToTask, SubscribeToTaskRequest, StreamResponse),
  CreateTaskPushNotificationConfig: rpcOf(
    A2AService.createTaskPushNotificationConfig,
    TaskPushNotificationConfig,
    TaskPushNotificationConfig,
  ),
  GetTaskPushNotificationConfig: rpcOf(
    A2AService.getTaskPushNotificationConfig,
    GetTaskPushNotificationConfigRequest,
    TaskPushNotificationConfig,
  ),
  ListTaskPushNotificationConfigs: rpcOf(
    A2AService.listTaskPushNotificationConfigs,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
  ),
  DeleteTaskPushNotificationConfig: rpcOf(
    A2AService.deleteTaskPushNotificationConfig,
    DeleteTaskPushNotificationConfigRequest,
    Nothing,
  ),
  GetExtendedAgentCard: rpcOf(A2AService.getExtendedAgentCard, GetExtendedAgentCardRequest, AgentCard),
};

/** gRPC at `address`, like `127.0.0.1:7421`. */
export const createGrpcDriver = (address: string, key: string): Driver => {
  const client = new Client(address, credentials.createInsecure());
  const metadataOf = (options: CallOptions): Metadata => {
    const metadata = new Metadata();
    for (const [name, value] of Object.entries(headersOf(key, options))) metadata.set(name, value);
    return metadata;
  };
  const call = <T>(operation: Operation, params: Params, options: CallOptions): Promise<Answer<T>> => {
    const { path, encode, decode } = RPCS[operation];
    return new Promise((resolve) => {
      let extensions = '';
      client
        .makeUnaryRequest(path, encode, decode, params, metadataOf(options), (error, result) => {
          resolve(error ? { extensions, error: refusalOf(error) } : { extensions, result: result as T });
        })
        .on('metadata', (initial: Metadata) => (extensions = initial.get('a2a-extensions').join(', ')));
    });
  };
  const open: Driver['open'] = async (operation, params, options = {}) => {
    const { path, encode, decode } = RPCS[operation];
    const reader = client.makeServerStreamRequest(path, encode, decode, params, metadataOf(options));
    let extensions = '';
    reader.on('metadata', (initial: Metadata) => (extensions = initial.get('a2a-extensions').join(', ')));
    const items = reader[Symbol.asyncIterator]() as AsyncIterator<Item>;
    let first: IteratorResult<Item>;
    try {
      first = await items.next();
    } catch (error) {
      return { extensions, error: refusalOf(error as ServiceError) };
    }
    return { extensions, result: streamOf(startingWith(first, items), () => reader.cancel()) };
  };
  return {
    binding: 'GRPC',
    call: (operation, params, options = {}) => call(operation, params, options),
    open,
    close: () => client.close(),
  };
};

async function* startingWith(first: IteratorResult<Item>, rest: AsyncIterator<Item>): AsyncGenerator<Item> {
  for (let item = first; !item.done; item = await rest.next()) yield item.value;
}

const refusalOf = ({ code, details: message, metadata }: ServiceError): Refusal => {
  const [encoded] = metadata.get('grpc-status-details-bin');
  const details = encoded === undefined ? [] : decodeStatus(Buffer.from(encoded)).details;
  const types = details.map(({ typeUrl }) => typeUrl.replace('type.googleapis.com/', ''));
  const info = details[types.indexOf('google.rpc.ErrorInfo')];
  const { reason, domain } = info ? decodeErrorInfo(info.value) : {};
  const violations = details[types.indexOf('google.rpc.BadRequest')];
  return { code, message, reason, domain, details: types, fields: violations ? fieldsOf(violations.value) : [] };
};

/** The SDK has no codec for BadRequest: its first field are violations, and their first field is a name. */
const fieldsOf = (bytes: Uint8Array): readonly string[] => {
  const fields: string[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = bytes[at + 1] ?? 0;
    // Lengths above 127 take two bytes; tests have no fields that long, but descriptions may be.
    const isLong = length > 127;
    const start = at + (isLong ? 3 : 2);
    const size = isLong ? (length & 127) + (bytes[at + 2] ?? 0) * 128 : length;
    const nameLength = bytes[start + 1] ?? 0;
    fields.push(Buffer.from(bytes.subarray(start + 2, start + 2 + nameLength)).toString());
    at = start + size;
  }
  return fields;
};
