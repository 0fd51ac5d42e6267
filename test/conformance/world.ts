import { randomUUID } from 'node:crypto';

import { createEchoAgent, type SealaneOptions } from 'sealane';
import { afterAll, beforeAll, expect } from 'vitest';

import type { WireMessage, WirePage, WireTask } from '../support/a2a-client.ts';
import { ADMIN_KEY, openService, type TestService } from '../support/service.ts';
import type { Answer, Binding, CallOptions, Driver, ItemStream, Operation, Params, Refusal } from './drivers/driver.ts';
import { createGrpcDriver } from './drivers/grpc.ts';
import { createJsonRpcDriver } from './drivers/json-rpc.ts';
import { createRestDriver } from './drivers/rest.ts';

/** A service that is reached over every binding. Its members are there once a test runs. */
export interface World {
  readonly service: TestService;
  readonly grpcAddress: string;
  speak(binding: Binding): Speaker;
  /** A key of somebody who has none yet. */
  keyOf(owner: string, more?: object): Promise<string>;
}

/** One binding in the words of the tests. */
export interface Speaker {
  /** Whatever comes back. */
  readonly ask: <T>(operation: Operation, params: Params, options?: CallOptions) => Promise<Answer<T>>;
  /** The result of a call that must succeed. */
  readonly call: <T>(operation: Operation, params: Params, options?: CallOptions) => Promise<T>;
  /** The refusal of a call, plain or streaming, that must not succeed. */
  readonly refused: (operation: Operation, params: Params, options?: CallOptions) => Promise<Refusal>;
  /** Sends a text and gets the task. */
  readonly send: (text: string, more?: Sending, options?: CallOptions) => Promise<WireTask>;
  /** The same, without waiting for its end. */
  readonly submit: (text: string, more?: Sending, options?: CallOptions) => Promise<WireTask>;
  readonly get: (id: string, more?: Params, options?: CallOptions) => Promise<WireTask>;
  readonly list: (params?: Params, options?: CallOptions) => Promise<WirePage>;
  readonly stream: (text: string, more?: Sending, options?: CallOptions) => Promise<ItemStream>;
  readonly subscribe: (id: string, options?: CallOptions) => Promise<ItemStream>;
}

export interface Sending {
  readonly message?: object;
  readonly configuration?: object;
  readonly metadata?: object;
  readonly tenant?: string;
}

/** The params of a send. */
export const sending = (text: string, { message, ...more }: Sending = {}): Params => ({
  message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...message },
  ...more,
});

const STREAMING: readonly Operation[] = ['SendStreamingMessage', 'SubscribeToTask'];

/**
 * Opens a service for the tests of a file. The agent `texts` takes plain text only; `closed` requires an extension;
 * further agents are those of the file.
 */
export const useWorld = (options: Partial<SealaneOptions> = {}, agents: SealaneOptions['agents'] = {}): World => {
  let service: TestService;
  let grpcAddress: string;
  let drivers: Readonly<Record<Binding, Driver>>;
  beforeAll(async () => {
    const connector = createEchoAgent();
    service = await openService({
      agents: {
        echo: { connector, default: true, public: true, concurrency: 256 },
        texts: { connector, inputModes: ['text/plain'] },
        closed: { connector, extensions: [{ uri: 'urn:test:required', description: 'Needed.', required: true }] },
        ...agents,
      },
      ...options,
    });
    grpcAddress = await service.sealane.listenGrpc();
    drivers = {
      JSONRPC: createJsonRpcDriver(`${service.url}/a2a`, ADMIN_KEY),
      'HTTP+JSON': createRestDriver(`${service.url}/a2a`, ADMIN_KEY),
      GRPC: createGrpcDriver(grpcAddress, ADMIN_KEY),
    };
  });
  afterAll(async () => {
    for (const driver of Object.values(drivers)) driver.close();
    await service.close();
  });
  return {
    get service() {
      return service;
    },
    get grpcAddress() {
      return grpcAddress;
    },
    speak: (binding) => createSpeaker(() => drivers[binding]),
    keyOf: async (owner, more = {}) => {
      const name = `${owner}-${randomUUID()}`;
      return (await service.admin.post<{ key: string }>('/keys', { name, ...more })).key;
    },
  };
};

const createSpeaker = (driver: () => Driver): Speaker => {
  const ask: Speaker['ask'] = (operation, params, options) => driver().call(operation, params, options);
  const call: Speaker['call'] = async <T>(operation: Operation, params: Params, options?: CallOptions) =>
    resultOf(await ask<T>(operation, params, options), operation);
  const open = async (operation: Operation, params: Params, options?: CallOptions): Promise<ItemStream> =>
    resultOf(await driver().open(operation, params, options), operation);
  const sendIt = async (params: Params, options?: CallOptions): Promise<WireTask> =>
    (await call<{ readonly task: WireTask }>('SendMessage', params, options)).task;
  return {
    ask,
    call,
    refused: async (operation, params, options) => {
      const isStream = STREAMING.includes(operation);
      const answer = await (isStream ? driver().open(operation, params, options) : ask(operation, params, options));
      if (answer.error) return answer.error;
      throw new Error(`${operation} was expected to be refused: ${JSON.stringify(answer.result)}`);
    },
    send: (text, more, options) => sendIt(sending(text, more), options),
    submit: (text, more = {}, options) =>
      sendIt(sending(text, { ...more, configuration: { ...more.configuration, returnImmediately: true } }), options),
    get: (id, more, options) => call('GetTask', { id, ...more }, options),
    list: (params = {}, options) => call('ListTasks', params, options),
    stream: (text, more, options) => open('SendStreamingMessage', sending(text, more), options),
    subscribe: (id, options) => open('SubscribeToTask', { id }, options),
  };
};

const resultOf = <T>({ result, error }: Answer<T>, operation: Operation): T => {
  if (error) throw new Error(`${operation} was refused: ${error.code} ${error.reason} ${error.message}`);
  return result;
};

/** What the specification calls each error on each binding (§5.4 of 1.0.1); the last are the standard ones. */
const CODES: Readonly<Record<string, Readonly<Record<Binding, number>>>> = {
  TASK_NOT_FOUND: { JSONRPC: -32001, 'HTTP+JSON': 404, GRPC: 5 },
  TASK_NOT_CANCELABLE: { JSONRPC: -32002, 'HTTP+JSON': 400, GRPC: 9 },
  PUSH_NOTIFICATION_NOT_SUPPORTED: { JSONRPC: -32003, 'HTTP+JSON': 400, GRPC: 9 },
  UNSUPPORTED_OPERATION: { JSONRPC: -32004, 'HTTP+JSON': 400, GRPC: 9 },
  CONTENT_TYPE_NOT_SUPPORTED: { JSONRPC: -32005, 'HTTP+JSON': 400, GRPC: 3 },
  EXTENSION_SUPPORT_REQUIRED: { JSONRPC: -32008, 'HTTP+JSON': 400, GRPC: 9 },
  VERSION_NOT_SUPPORTED: { JSONRPC: -32009, 'HTTP+JSON': 400, GRPC: 9 },
  INVALID_PARAMS: { JSONRPC: -32602, 'HTTP+JSON': 400, GRPC: 3 },
};

/** A refusal has this reason, and the code that the binding has for it. */
export const expectRefusal = (binding: Binding, refusal: Refusal, reason: string): void => {
  const expected = { reason, code: CODES[reason]?.[binding] };
  expect({ reason: refusal.reason, code: refusal.code }, refusal.message).toEqual(expected);
};

export const answerOf = (task: WireTask): string =>
  (task.artifacts ?? []).flatMap(({ parts }) => parts.map(({ text }) => text ?? '')).join('');

export const textsOf = (messages: readonly WireMessage[] = []): readonly string[] =>
  messages.map(({ parts }) => parts.map(({ text }) => text ?? '').join(''));
