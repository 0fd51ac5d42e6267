import { once } from 'node:events';
import { createServer, type IncomingMessage, request as httpRequest } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';

import express from 'express';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { ADMIN_KEY, message, openTestApp, type TestApp } from './http-app.fixture.ts';
import { nodeHandler } from './node-handler.ts';

let test: TestApp;
beforeAll(async () => {
  test = await openTestApp({ heartbeatMs: 50, stallMs: 1000 });
});
afterAll(async () => test[Symbol.asyncDispose]());

const HEADERS = { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json' };
const bodyOf = (method: string, params: unknown): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 'r1', method, params });

interface OpenInit {
  readonly url?: string;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}
const open = (method: string, params: unknown, more: OpenInit = {}): Promise<Response> =>
  fetch(`${more.url ?? test.url}/a2a`, {
    method: 'POST',
    headers: { ...HEADERS, ...more.headers },
    body: bodyOf(method, params),
    ...(more.signal && { signal: more.signal }),
  });

interface Frame {
  readonly id: string | undefined;
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly data: any;
}
const framesOf = (text: string): Frame[] =>
  text
    .split('\n\n')
    .filter((block) => block.includes('data: '))
    .map((block) => ({
      id: /^id: (.*)$/m.exec(block)?.[1],
      data: JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? '') as unknown,
    }));

const noStreams = (): Promise<void> =>
  expect.poll(() => [test.service.openStreams(), test.metrics.streams()]).toEqual([0, 0]);
const errorsLogged = (): number => test.logged.filter((line) => line.includes('"level":50')).length;

describe('an event stream', () => {
  it('carries the task, then its events, numbered without holes, in JSON-RPC answers', async () => {
    const response = await open('SendStreamingMessage', message('hello'));
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(response.headers.get('x-accel-buffering')).toBe('no');
    const frames = framesOf(await response.text());
    expect(frames.map(({ id }) => id)).toEqual(['1', '2', '3', '4']);
    expect(frames.every(({ data }) => data.jsonrpc === '2.0' && data.id === 'r1')).toBe(true);
    expect(frames.map(({ data }) => Object.keys(data.result as object)[0])).toEqual([
      'task',
      'statusUpdate',
      'artifactUpdate',
      'statusUpdate',
    ]);
    expect(test.metrics.streams()).toBe(0);
  });

  it('has no line breaks within an event, whatever a reader takes for one', async () => {
    const words = 'one\ntwo\r\nthree\u0085four\u2028five\u2029six\vseven\feight';
    const text = await (await open('SendStreamingMessage', message(words))).text();
    expect(text.split(/[\r\v\f\u0085\u2028\u2029]/)).toHaveLength(1);
    const told = framesOf(text).find(({ data }) => 'artifactUpdate' in data.result);
    expect(told?.data.result.artifactUpdate.artifact.parts).toEqual([{ text: words }]);
  });

  it('resumes after Last-Event-ID, and refuses one that is no number', async () => {
    const { body } = await test.call('SendMessage', message('x'));
    const { id } = body.result.task as { id: string };
    const resumed = await open('SubscribeToTask', { id }, { headers: { 'last-event-id': '5' } });
    expect(framesOf(await resumed.text()).map(({ id }) => id)).toEqual(['6', '7', '8']);
    const refused = await open('SubscribeToTask', { id }, { headers: { 'last-event-id': 'abc' } });
    expect(await refused.json()).toMatchObject({ error: { code: -32602 } });
  });

  it('is a plain answer when it is refused before it began', async () => {
    const { body } = await test.call('SendMessage', message('x'));
    for (const [method, params, code] of [
      ['SubscribeToTask', { id: body.result.task.id as string }, -32004],
      ['SubscribeToTask', { id: 'nobody' }, -32001],
      ['SendStreamingMessage', message('full'), -32015],
      ['SendStreamingMessage', {}, -32602],
    ] as const) {
      const response = await open(method, params);
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe('application/json');
      expect(await response.json()).toMatchObject({ id: 'r1', error: { code } });
    }
  });

  it('ends with an error frame when it breaks', async () => {
    const text = await (await open('SendStreamingMessage', message('tear'))).text();
    const frames = framesOf(text);
    expect(frames.at(-1)?.data).toMatchObject({ jsonrpc: '2.0', id: 'r1', error: { code: -32603 } });
    expect(frames.at(-1)?.id).toBeUndefined();
    expect(text).not.toContain('secret');
    expect(test.logged.some((line) => line.includes('the secret reason'))).toBe(true);
  });

  it('beats while nothing happens', async () => {
    const leave = new AbortController();
    const response = await open('SendStreamingMessage', message('wait'), { signal: leave.signal });
    let text = '';
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk as Uint8Array);
      if (text.split(': still here\n\n').length > 2) break;
    }
    expect(framesOf(text)).toHaveLength(2);
    leave.abort();
    await noStreams();
  });

  it('lets go of its source when the reader leaves', async () => {
    const errors = errorsLogged();
    const leave = new AbortController();
    const response = await open('SendStreamingMessage', message('wait'), { signal: leave.signal });
    await response.body?.getReader().read();
    expect([test.service.openStreams(), test.metrics.streams()]).toEqual([1, 1]);
    leave.abort();
    await noStreams();
    expect(errorsLogged()).toBe(errors);
  });

  it('takes no more from its source than the reader takes, and loses nothing', async () => {
    // A reader that comes late is not one that takes nothing.
    await using patient = await openTestApp({ stallMs: 60_000 });
    const chunks = 20_000;
    const socketRequest = httpRequest(`${patient.url}/a2a`, { method: 'POST', headers: HEADERS });
    socketRequest.end(bodyOf('SendStreamingMessage', message(`flood ${chunks}`)));
    const [response] = (await once(socketRequest, 'response')) as [IncomingMessage];
    // Nobody reads: what is produced must come to rest far below the whole.
    const start = patient.service.produced();
    let before = -1;
    const isAtRest = (): boolean => {
      const now = patient.service.produced();
      const isSame = now === before;
      before = now;
      return isSame;
    };
    await expect.poll(isAtRest, { interval: 150 }).toBe(true);
    expect(before - start).toBeLessThan(chunks / 2);
    let text = '';
    for await (const chunk of response.setEncoding('utf8')) text += String(chunk);
    const ids = framesOf(text).map(({ id }) => Number(id));
    expect(ids).toEqual(Array.from({ length: chunks + 3 }, (_, n) => n + 1));
  });

  it('cuts off a reader that takes nothing for too long', async () => {
    const socket = connect(Number(new URL(test.url).port), '127.0.0.1');
    const body = bodyOf('SendStreamingMessage', message('flood 1000000'));
    socket.pause();
    socket.write(
      `POST / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${ADMIN_KEY}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await expect.poll(() => test.service.openStreams()).toBe(1);
    await noStreams();
    socket.on('error', () => undefined).destroy();
  });
});

describe('a large plain answer', () => {
  const LENGTH = 32_000_000;

  /** A connection that has asked for a task of that size and has read nothing yet. */
  const ask = async ({ service, url }: TestApp): Promise<Socket> => {
    const { tasks } = test.service;
    await test.call('SendMessage', message('hi'));
    const artifacts = JSON.stringify([{ artifactId: 'a', parts: [{ text: 'x'.repeat(LENGTH) }] }]);
    service.tasks.set('large', { ...[...tasks.values()][0]!, id: 'large', artifacts });
    const socket = connect(Number(new URL(url).port), '127.0.0.1').pause();
    const body = bodyOf('GetTask', { id: 'large' });
    socket.write(
      `POST / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${ADMIN_KEY}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    return socket;
  };

  it('is not kept for a caller that takes nothing of it for too long', async () => {
    await using stalling = await openTestApp({ stallMs: 300 });
    const connections = (): Promise<number> =>
      new Promise((resolve, reject) =>
        stalling.app.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
      );
    const socket = await ask(stalling);
    await expect.poll(connections).toBe(1);
    await expect.poll(connections).toBe(0);
    socket.on('error', () => undefined).destroy();
  });

  it('reaches a caller that takes it slowly, and leaves the connection open', async () => {
    await using slow = await openTestApp({ stallMs: 1000 });
    const socket = await ask(slow);
    const began = performance.now();
    let [taken, sinceRest] = [0, 0];
    socket.on('data', ({ length }: Buffer) => {
      taken += length;
      sinceRest += length;
      if (sinceRest < 1_000_000) return;
      sinceRest = 0;
      socket.pause();
      setTimeout(() => socket.resume(), 60);
    });
    socket.resume();
    await expect.poll(() => taken).toBeGreaterThan(LENGTH);
    expect(performance.now() - began).toBeGreaterThan(1000);
    expect(socket.closed).toBe(false);
    socket.destroy();
  });
});

describe('closing', () => {
  it('ends streams without an error, answers calls that wait, and frees the connections', async () => {
    await using closed = await openTestApp();
    const stream = await open('SendStreamingMessage', message('wait'), { url: closed.url });
    const reading = stream.text();
    const waiting = closed.call('SendMessage', message('hang'));
    await expect.poll(() => closed.service.sent.length).toBe(2);
    await closed.app.close();
    const text = await reading;
    expect(framesOf(text).some(({ data }) => 'error' in (data as object))).toBe(false);
    expect(text.endsWith(': closed; resume with Last-Event-ID\n\n')).toBe(true);
    expect((await waiting).body).toMatchObject({ error: { code: -32020 } });
  });

  it('does not wait for connections on which nothing was asked', async () => {
    await using closed = await openTestApp();
    const socket = connect(Number(new URL(closed.url).port), '127.0.0.1');
    await once(socket, 'connect');
    await fetch(`${closed.url}/healthz`);
    // What is not gone after a while would be cut; here nothing is.
    closed.app.server.closeAllConnections = () => undefined;
    await closed.app.close();
    socket.destroy();
  });
});

describe('a call whose caller leaves', () => {
  it('stops waiting, without a word in the log', async () => {
    const [calls, sent, errors] = [test.metrics.calls.length, test.service.sent.length, errorsLogged()];
    const leave = new AbortController();
    const call = fetch(`${test.url}/a2a`, {
      method: 'POST',
      headers: HEADERS,
      body: bodyOf('SendMessage', message('hang')),
      signal: leave.signal,
    });
    await expect.poll(() => test.service.sent.length).toBe(sent + 1);
    leave.abort();
    await expect(call).rejects.toThrow();
    await expect.poll(() => test.metrics.calls.slice(calls)).toEqual(['SendMessage unavailable']);
    expect(errorsLogged()).toBe(errors);
  });
});

describe('mounted in another server', () => {
  const listen = async (server: ReturnType<typeof createServer>): Promise<string> => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  const send = async (url: string): Promise<unknown> =>
    (await fetch(url, { method: 'POST', headers: HEADERS, body: bodyOf('SendMessage', message('hi')) })).json();

  it('answers under its prefix in a plain node server', async () => {
    await using mounted = await openTestApp({ prefix: '/sealane' });
    const server = createServer(nodeHandler(mounted.app));
    const url = await listen(server);
    expect(await send(`${url}/sealane/a2a`)).toMatchObject({ result: { task: {} } });
    expect(await send(`${url}/sealane`)).toMatchObject({ result: { task: {} } });
    const card = await (await fetch(`${url}/sealane/.well-known/agent-card.json`)).json();
    expect(card).toMatchObject({ url: `${url}/sealane/a2a` });
    const elsewhere = await fetch(`${url}/a2a`, { headers: HEADERS });
    expect(elsewhere.status).toBe(404);
    expect(await elsewhere.json()).toHaveProperty('error');
    server.close();
  });

  it.each(['/tasks', '/api/v1'])(
    'refuses in the words of the binding that was called, also under %s',
    async (prefix) => {
      await using mounted = await openTestApp({ prefix });
      const url = `${mounted.url}${prefix}`;
      const body = bodyOf('SendMessage', message('hi'));
      const unknown = { ...HEADERS, authorization: 'Bearer nobody' };
      const refusal = async (path: string, headers: Record<string, string>): Promise<unknown> =>
        (await fetch(`${url}${path}`, { method: 'POST', headers, body })).json();
      expect(await refusal('/a2a', unknown)).toMatchObject({ jsonrpc: '2.0', error: { code: -32010 } });
      expect(await refusal('/message:send', unknown)).toMatchObject({
        error: { code: 401, status: 'UNAUTHENTICATED' },
      });
      expect(await refusal('/no/where', HEADERS)).toMatchObject({
        jsonrpc: '2.0',
        error: { code: -32021, message: expect.stringContaining(`POST ${prefix}/a2a or`) },
      });
    },
  );

  it('answers behind an Express that has already read the body', async () => {
    const server = createServer(express().use(express.json()).use('/sealane', nodeHandler(test.app)));
    const url = await listen(server);
    expect(await send(`${url}/sealane/a2a`)).toMatchObject({ result: { task: {} } });
    server.close();
  });
});
