import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';

import { A2AService } from '@a2a-js/sdk/server/grpc';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';

import { eventually } from './support/eventually.ts';
import { createGateAgent, type GatedRun } from './support/gate-agent.ts';
import { createGrpcCaller, grpcRefusalOf } from './support/grpc-caller.ts';
import { getBytes, readAll, sendBytes, subscribeBytes } from './support/grpc-requests.ts';
import { freshFolder, serve, serveInVain } from './support/served-process.ts';
import { ADMIN_KEY, openService, type TestService } from './support/service.ts';
import { openStalledReader } from './support/stalled-grpc-reader.ts';

const HEADERS = { authorization: `Bearer ${ADMIN_KEY}` };

const gate = createGateAgent();

/** More than a connection takes unread: two megabytes. */
const MUCH = 20;
const emitMuch = async ({ io }: GatedRun): Promise<void> => {
  for (let number = 0; number < MUCH; number += 1) {
    const parts = [{ text: 'x'.repeat(100_000) }];
    await io.emit({ kind: 'artifact', artifact: { artifactId: `a${number}`, parts } });
  }
};

describe('the port', () => {
  const opened: TestService[] = [];
  afterEach(async () => {
    for (const each of opened.splice(0)) await each.close();
  });
  const open = async (): Promise<TestService> => {
    const fresh = await openService({ agents: { gate: gate.connector } });
    opened.push(fresh);
    return fresh;
  };

  it('closes with a word to every stream that goes on, and to calls that come in late', async () => {
    const fresh = await open();
    // Calls that go on would be cut after longer than this test may take.
    using own = createGrpcCaller(await fresh.sealane.listenGrpc({ closeGraceMs: 600_000 }), ADMIN_KEY);
    const asking = fresh.client.send('asks');
    (await gate.started('asks')).end({ state: 'input-required' });
    const reader = own.stream(A2AService.subscribeToTask.path, subscribeBytes((await asking).id));
    const refusal = grpcRefusalOf(readAll(reader));
    await reader.initial;
    await fresh.close();
    expect(await refusal).toMatchObject({ status: 'UNAVAILABLE', reason: 'UNAVAILABLE' });
    expect((await refusal).details).toEqual(['ErrorInfo', 'RetryInfo']);
    const late = own.unary(A2AService.getTask.path, getBytes({ id: 'x' }));
    expect(await grpcRefusalOf(late)).toMatchObject({ status: 'UNAVAILABLE' });
  });

  it('does not wait for readers that take nothing', async () => {
    const fresh = await open();
    const at = await fresh.sealane.listenGrpc({ closeGraceMs: 200 });
    using _reader = openStalledReader(at, A2AService.sendStreamingMessage.path, sendBytes('takes nothing'), HEADERS);
    const run = await gate.started('takes nothing');
    await emitMuch(run);
    // A reader that stalls would be let go after a minute.
    const began = performance.now();
    await fresh.close();
    expect(performance.now() - began).toBeLessThan(30_000);
  });

  it('tells a reader that took nothing for too long to come back, and it has missed nothing then', async () => {
    const fresh = await open();
    const at = await fresh.sealane.listenGrpc({ stallMs: 1000 });
    using reader = openStalledReader(at, A2AService.sendStreamingMessage.path, sendBytes('stalls'), HEADERS);
    const run = await gate.started('stalls');
    await emitMuch(run);
    run.end();
    const metrics = async (): Promise<string> => await (await fetch(`${fresh.url}/metrics`)).text();
    await eventually(async () => expect(await metrics()).toMatch(/^sealane_streams 0$/m));
    const { messages, status, statusMessage, first } = await reader.catchUp();
    expect([status, statusMessage]).toEqual([14, expect.stringContaining('last-event-id')]);
    expect(messages.length).toBeLessThan(MUCH / 2);
    const metadata = { 'last-event-id': String(first + messages.length - 1) };
    using own = createGrpcCaller(at, ADMIN_KEY);
    const rest = own.stream(A2AService.subscribeToTask.path, subscribeBytes(run.turn.taskId), { metadata });
    expect(messages.length + (await readAll(rest)).length).toBe(1 + MUCH + 1);
  });

  it('asks for the key before it reads a message', async () => {
    const fresh = await open();
    const client = new Client(await fresh.sealane.listenGrpc(), credentials.createInsecure());
    const asTheyAre = (bytes: Buffer): Buffer => bytes;
    const unsent = new Promise((resolve, reject) => {
      client.makeClientStreamRequest(A2AService.sendMessage.path, asTheyAre, asTheyAre, (error, answer) =>
        error ? reject(error) : resolve(answer),
      );
    });
    expect(await grpcRefusalOf(unsent)).toMatchObject({ status: 'UNAUTHENTICATED' });
    client.close();
  });

  it('gives up on a request that never becomes whole, and on nothing else', async () => {
    const fresh = await open();
    const at = await fresh.sealane.listenGrpc({ requestTimeoutMs: 1000 });
    using own = createGrpcCaller(at, ADMIN_KEY);
    const waiting = own.unary(A2AService.sendMessage.path, sendBytes('takes its time'));
    const client = new Client(at, credentials.createInsecure());
    const metadata = new Metadata();
    metadata.set('authorization', `Bearer ${ADMIN_KEY}`);
    const asTheyAre = (bytes: Buffer): Buffer => bytes;
    const unfinished = new Promise((resolve, reject) => {
      client.makeClientStreamRequest(A2AService.getTask.path, asTheyAre, asTheyAre, metadata, (error, answer) =>
        error ? reject(error) : resolve(answer),
      );
    });
    expect(await grpcRefusalOf(unfinished)).toMatchObject({ status: 'INVALID_ARGUMENT', reason: 'INVALID_REQUEST' });
    client.close();
    (await gate.started('takes its time')).end();
    expect((await waiting).bytes.length).toBeGreaterThan(0);
  });

  it('that is taken is told as that of HTTP would be, and the service goes on', async () => {
    const fresh = await open();
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const { port } = holder.address() as AddressInfo;
    await expect(fresh.sealane.listenGrpc({ port })).rejects.toMatchObject({ code: 'EADDRINUSE', port });
    holder.close();
    await once(holder, 'close');
    expect(await fresh.sealane.listenGrpc({ port })).toBe(`127.0.0.1:${port}`);
    await expect(fresh.sealane.listenGrpc()).rejects.toThrow(`127.0.0.1:${port}`);
  });

  it.each<[string, string]>([
    ['HTTP/1.1', 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['noise', '\0\x01\x02'.repeat(100)],
    ['a preface and noise', `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${'\xff'.repeat(100)}`],
  ])('is not impressed by %s', async (_what, text) => {
    const fresh = await open();
    const at = await fresh.sealane.listenGrpc();
    const socket = connect(Number(at.split(':')[1]), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(text, 'latin1');
    socket.resume();
    await once(socket, 'close');
    using own = createGrpcCaller(at, ADMIN_KEY);
    const call = own.unary(A2AService.getTask.path, getBytes({ id: 'x' }));
    expect(await grpcRefusalOf(call)).toMatchObject({ status: 'NOT_FOUND' });
  });

  it('is opened by --grpc-port, on the host of HTTP, and the card names it', async () => {
    using folder = freshFolder();
    await using served = await serve(folder.path, { args: ['--grpc-port', '0'] });
    const shown = await fetch(`${served.url}/.well-known/agent-card.json`);
    const { supportedInterfaces } = (await shown.json()) as { supportedInterfaces: Record<string, string>[] };
    const { url = '' } = supportedInterfaces.find(({ protocolBinding }) => protocolBinding === 'GRPC') ?? {};
    expect(url).toMatch(/^127\.0\.0\.1:[1-9]\d*$/);
    using own = createGrpcCaller(url, ADMIN_KEY);
    expect((await own.unary(A2AService.sendMessage.path, sendBytes('hello'))).bytes.toString()).toContain('hello');
    expect(await served.stop()).toBe(0);
  });

  it('that is taken is told with the flag that chooses another', async () => {
    using folder = freshFolder();
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const { port } = holder.address() as AddressInfo;
    const { code, stderr } = await serveInVain(folder.path, { args: ['--grpc-port', String(port)] });
    holder.close();
    expect(code).toBe(1);
    expect(stderr).toContain(`Port ${port} is taken`);
    expect(stderr).toContain(`--grpc-port ${port + 1}`);
  });
});
