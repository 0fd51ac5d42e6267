import type { Socket } from 'node:net';

import { GetTaskRequest } from '@a2a-js/sdk';
import { A2AService } from '@a2a-js/sdk/server/grpc';
import { type AgentConnector, createEchoAgent, sessionKeyOf } from 'sealane';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type A2aClient, answerOf, refusalOf } from './support/a2a-client.ts';
import { eventually } from './support/eventually.ts';
import { createGrpcCaller } from './support/grpc-caller.ts';
import { openService, type TestService } from './support/service.ts';
import { openStalledReader } from './support/stalled-grpc-reader.ts';
import { openStalledCall } from './support/stalled-http-reader.ts';

const CHUNKS = 16;
const CHUNK = 'x'.repeat(500_000);
/** More than a connection takes by itself. */
const LENGTH = CHUNKS * CHUNK.length;

const large: AgentConnector = {
  kind: 'scripted',
  session: sessionKeyOf,
  run: async (_turn, io) => {
    for (let index = 0; index < CHUNKS; index += 1) {
      await io.emit({ kind: 'artifact', artifact: { artifactId: `part-${index}`, parts: [{ text: CHUNK }] } });
    }
    return { state: 'completed' };
  },
  stop: async () => 'dead',
  close: async () => undefined,
};

let service: TestService;
let grpc: string;
let largeId: string;
beforeAll(async () => {
  service = await openService({
    agents: { echo: { connector: createEchoAgent(), default: true }, large },
    unreadBytes: 1024 * 1024,
  });
  grpc = await service.sealane.listenGrpc();
  const reader = await service.clientOf('reader');
  ({ id: largeId } = await reader.send('go', { metadata: { executor: 'large' } }));
});
afterAll(() => service.close());

interface Reader {
  readonly key: string;
  readonly client: A2aClient;
}

let readers = 0;
/** Somebody with a key of its own for the large task. */
const newReader = async (): Promise<Reader> => {
  readers += 1;
  const { key } = await service.admin.post<{ key: string }>('/keys', { name: `key-${readers}`, owner: 'reader' });
  return { key, client: service.client.with({ key }) };
};

/** Asks, and reads nothing of the answer. */
const stall = ({ key }: Reader): Promise<Socket> =>
  openStalledCall(service.url, { key, method: 'GetTask', taskId: largeId });

const isRefused = (client: A2aClient) =>
  eventually(async () => {
    const refusal = await refusalOf(client.get(largeId));
    expect([refusal.code, refusal.status, refusal.headers.get('retry-after')]).toEqual([-32014, 200, '1']);
    expect(refusal.message).toMatch(
      /^Answers of \d+ KiB to this key have not been read yet, so this one is not sent: read them/,
    );
  });
const isServed = (client: A2aClient) =>
  eventually(async () => expect(JSON.stringify(await client.get(largeId)).length).toBeGreaterThan(LENGTH));

describe('whoever leaves large answers unread', () => {
  it('gets no more of them until they are read or gone; small ones and other keys are served', async () => {
    const [alice, bob] = [await newReader(), await newReader()];
    await isServed(alice.client);
    const socket = await stall(alice);
    await isRefused(alice.client);
    expect(answerOf(await alice.client.send('hello'))).toBe('hello');
    await isServed(bob.client);

    socket.resume();
    await isServed(alice.client);
    const gone = await stall(alice);
    await isRefused(alice.client);
    gone.destroy();
    await isServed(alice.client);
    socket.destroy();
  });

  it('over gRPC neither, and the other way round', async () => {
    const alice = await newReader();
    const { path, requestSerialize } = A2AService.getTask;
    const bytes = requestSerialize(GetTaskRequest.fromJSON({ id: largeId }));
    using caller = createGrpcCaller(grpc, alice.key);
    const reader = openStalledReader(grpc, path, bytes, { authorization: `Bearer ${alice.key}` });
    await reader.begun;
    await isRefused(alice.client);
    await expect(caller.unary(path, bytes)).rejects.toThrow('have not been read yet');
    reader[Symbol.dispose]();
    await isServed(alice.client);
  });

  it('is told so on a stream, and can go on with it later', async () => {
    const alice = await newReader();
    const socket = await stall(alice);
    await isRefused(alice.client);
    const cut = await alice.client.subscribe(largeId, 0);
    expect((await cut.rest()).at(-1)!.text).toContain('have not been read yet');
    socket.destroy();
    await isServed(alice.client);
    const whole = await (await alice.client.subscribe(largeId, 0)).rest();
    expect(whole.map(({ id }) => id)).toEqual(whole.map((_, index) => index + 1));
    expect(whole.length).toBeGreaterThan(CHUNKS);
  });

  it('counts with its streams too', async () => {
    const alice = await newReader();
    const call = { key: alice.key, method: 'SubscribeToTask', taskId: largeId, lastEventId: 0 };
    const sockets = await Promise.all(Array.from({ length: 12 }, () => openStalledCall(service.url, call)));
    await isRefused(alice.client);
    for (const socket of sockets) socket.destroy();
    await isServed(alice.client);
  });
});
