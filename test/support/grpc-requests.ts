import { randomUUID } from 'node:crypto';

import { GetTaskRequest, SendMessageRequest, StreamResponse, SubscribeToTaskRequest } from '@a2a-js/sdk';
import { A2AService } from '@a2a-js/sdk/server/grpc';

import type { GrpcReader } from './grpc-caller.ts';

/** Requests of A2A 1.0 as bytes, for both ways to send. */
export const sendBytes = (text: string, more: object = {}, message: object = {}): Buffer =>
  A2AService.sendMessage.requestSerialize(
    SendMessageRequest.fromJSON({
      message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...message },
      ...more,
    }),
  );

export const getBytes = (fields: object): Buffer =>
  A2AService.getTask.requestSerialize(GetTaskRequest.fromJSON(fields));

export const subscribeBytes = (id: string): Buffer =>
  A2AService.subscribeToTask.requestSerialize(SubscribeToTaskRequest.fromJSON({ id }));

/** Everything that a stream tells, as JSON. */
export const readAll = async (reader: GrpcReader): Promise<object[]> => {
  const items: object[] = [];
  for await (const bytes of reader) {
    items.push(StreamResponse.toJSON(A2AService.subscribeToTask.responseDeserialize(bytes)) as object);
  }
  return items;
};
