import { randomUUID } from 'node:crypto';

import { Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';

import { ADMIN_KEY } from '../support/service.ts';
import { ROUTES } from './drivers/rest.ts';
import { sending, useWorld } from './world.ts';

const world = useWorld();
const HEADERS = { authorization: `Bearer ${ADMIN_KEY}`, 'a2a-version': '1.0' };
const NO_TASK = '00000000-0000-7000-8000-000000000000';

const post = (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${world.service.url}${path}`, {
    method: 'POST',
    headers: { ...HEADERS, 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
const rpc = (method: string, params: unknown, headers?: Record<string, string>): Promise<Response> =>
  post('/a2a', { jsonrpc: '2.0', id: 'one', method, params }, headers);
const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${world.service.url}/a2a${path}`, { headers: { ...HEADERS, ...headers } });

describe('JSON-RPC', () => {
  it('has answers of application/json, with the id of the request [JSONRPC-FMT-001 JSONRPC-FMT-002]', async () => {
    const response = await rpc('ListTasks', {});
    expect(response.headers.get('content-type')).toMatch(/^application\/json\b/);
    expect(await response.json()).toMatchObject({ jsonrpc: '2.0', id: 'one', result: { totalSize: 0 } });
  });

  it.each([
    [-32700, '{"jsonrpc":'],
    [-32600, { id: 1, method: 'ListTasks' }],
    [-32600, { jsonrpc: '2.0', id: 1 }],
    [-32601, { jsonrpc: '2.0', id: 1, method: 'Nothing' }],
    [-32602, { jsonrpc: '2.0', id: 1, method: 'GetTask', params: {} }],
  ])('refuses with %i what is not right [JSONRPC-FMT-001 JSONRPC-ERR-001 JSONRPC-ERR-004]', async (code, body) => {
    const answer = (await (await post('/a2a', body)).json()) as object;
    expect(answer).toMatchObject({ jsonrpc: '2.0', error: { code, message: expect.any(String) } });
    expect(answer).not.toHaveProperty('result');
  });

  it('has the methods of the gRPC service [JSONRPC-SVC-001]', async () => {
    for (const method of Object.keys(ROUTES)) {
      const response = await rpc(method, {}, { accept: 'application/json' });
      expect((await response.json()) as object, method).not.toMatchObject({ error: { code: -32601 } });
    }
  });

  it('takes version and extensions from headers, in any case [JSONRPC-SVC-002]', async () => {
    const refused = await rpc('ListTasks', {}, { 'A2A-VERSION': '9.9' }).catch(() => undefined);
    expect(await refused?.json()).toMatchObject({ error: { code: -32009 } });
    const uri = 'https://sealane.dev/extensions/task-log/v1';
    const used = await rpc('ListTasks', {}, { 'A2A-Extensions': uri });
    expect(used.headers.get('a2a-extensions')).toBe(uri);
  });

  it('has errors with a code, a message and typed details [JSONRPC-ERR-001 JSONRPC-ERR-002 JSONRPC-ERR-003 CORE-ERR-001 CORE-ERR-004]', async () => {
    const { error } = (await (await rpc('GetTask', { id: NO_TASK })).json()) as { error: { data: object[] } };
    expect(error).toMatchObject({ code: -32001, message: expect.stringContaining(NO_TASK) });
    expect(error.data).toContainEqual({
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      reason: 'TASK_NOT_FOUND',
      domain: 'a2a-protocol.org',
      metadata: expect.any(Object),
    });
    for (const detail of error.data) expect(detail).toHaveProperty('@type');
  });

  it('streams events that are answers [JSONRPC-SSE-001]', async () => {
    const response = await rpc('SendStreamingMessage', sending('hello'));
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream\b/);
    const data = [...(await response.text()).matchAll(/^data: (.*)$/gm)].map(([, text]) => JSON.parse(text!) as object);
    for (const event of data) expect(event).toMatchObject({ jsonrpc: '2.0', id: 'one', result: expect.any(Object) });
    expect(data[0]).toHaveProperty('result.task');
  });

  it('takes the version from the query [VER-SERVER-005]', async () => {
    const { 'a2a-version': _none, ...headers } = HEADERS;
    const ask = (version: string): Promise<Response> =>
      fetch(`${world.service.url}/a2a/tasks?A2A-Version=${version}`, { headers });
    expect((await ask('1.0')).status).toBe(200);
    expect((await ask('9.9')).status).toBe(400);
  });

  it('without a version is 0.3, with one is that [VER-SERVER-001 VER-SERVER-003]', async () => {
    const old = { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'hello' }] };
    for (const version of ['', '0.3', '0.3.0']) {
      const response = await rpc('message/send', { message: old }, { 'a2a-version': version });
      expect(await response.json()).toMatchObject({ result: { kind: 'task', status: { state: 'completed' } } });
    }
    const wrong = await rpc('message/send', { message: old }, { 'a2a-version': '1.0' });
    expect(await wrong.json()).toMatchObject({ error: { code: -32601 } });
  });
});

describe('HTTP+JSON', () => {
  it('has every operation at its address and with its method [HTTP_JSON-URL-001 HTTP_JSON-URL-002]', async () => {
    const { task } = (await (await post('/a2a/message:send', sending('@ask Which?'))).json()) as {
      task: { id: string };
    };
    for (const [operation, [method, path]] of Object.entries(ROUTES)) {
      const url = `${world.service.url}/a2a${path.replace('{taskId}', task.id).replace('{id}', task.id)}`;
      const headers = { ...HEADERS, 'content-type': 'application/json' };
      const response = await fetch(url, { method, headers, ...(method === 'POST' && { body: '{}' }) });
      const text = response.headers.get('content-type')?.startsWith('text/event-stream') ? '' : await response.text();
      await response.body?.cancel().catch(() => undefined);
      expect([405, 501], `${operation}: ${text}`).not.toContain(response.status);
      expect(text, operation).not.toContain('"NOT_FOUND","message":"There is nothing');
    }
    const wrong = await fetch(`${world.service.url}/a2a/tasks`, { method: 'PUT', headers: HEADERS });
    expect([404, 405]).toContain(wrong.status);
  });

  it('has its own media type, and takes plain JSON as well [HTTP_JSON-SVC-001]', async () => {
    for (const type of ['application/a2a+json', 'application/json']) {
      const response = await post('/a2a/message:send', sending('hello'), { 'content-type': type });
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toMatch(/^application\/a2a\+json\b/);
    }
    expect((await get(`/tasks/${NO_TASK}`)).headers.get('content-type')).toMatch(/^application\/a2a\+json\b/);
  });

  it('takes version and extensions from headers [HTTP_JSON-SVC-002]', async () => {
    expect((await get('/tasks', { 'a2a-version': '9.9' })).status).toBe(400);
    const uri = 'https://sealane.dev/extensions/task-log/v1';
    expect((await get('/tasks', { 'a2a-extensions': `urn:x,${uri}` })).headers.get('a2a-extensions')).toBe(uri);
  });

  it('has parameters in camel case in the query, escaped [HTTP_JSON-QP-001]', async () => {
    const contextId = `a b&c=d/é ${randomUUID()}`;
    await post('/a2a/message:send', sending('hello', { message: { contextId } }));
    const query = new URLSearchParams({ contextId, pageSize: '1', includeArtifacts: 'true', historyLength: '0' });
    const page = (await (await get(`/tasks?${query.toString()}`)).json()) as { tasks: object[] };
    expect(page).toMatchObject({ totalSize: 1, pageSize: 1 });
    expect(page.tasks[0]).toHaveProperty('artifacts');
    expect(page.tasks[0]).not.toHaveProperty('history');
    const state = await get(`/tasks?contextId=${encodeURIComponent(contextId)}&status=TASK_STATE_FAILED`);
    expect(await state.json()).toMatchObject({ totalSize: 0 });
    expect((await get('/tasks?pageSize=many')).status).toBe(400);
  });

  it('has errors in the form of Google [HTTP_JSON-ERR-001 HTTP_JSON-ERR-002 HTTP_JSON-STATUS-001 CORE-ERR-004]', async () => {
    const response = await get(`/tasks/${NO_TASK}`);
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({
      error: {
        code: 404,
        status: 'NOT_FOUND',
        message: expect.stringContaining(NO_TASK),
        details: [
          {
            '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
            reason: 'TASK_NOT_FOUND',
            domain: 'a2a-protocol.org',
            metadata: expect.any(Object),
          },
        ],
      },
    });
  });

  it('streams events that are stream responses [HTTP_JSON-SSE-001]', async () => {
    const response = await post('/a2a/message:stream', sending('hello'));
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream\b/);
    const data = [...(await response.text()).matchAll(/^data: (.*)$/gm)].map(([, text]) => JSON.parse(text!) as object);
    expect(data[0]).toHaveProperty('task.id');
    expect(data.every((event) => Object.keys(event).length === 1)).toBe(true);
  });

  it('names the tenant in the path, and a body that disagrees is refused [TENANT-001]', async () => {
    const tenant = `t-${randomUUID()}`;
    const agreed = await post(`/a2a/${tenant}/message:send`, sending('hello', { tenant }));
    expect(agreed.status).toBe(200);
    const other = await post(`/a2a/${tenant}/message:send`, sending('hello', { tenant: 'another' }));
    expect(other.status).toBe(400);
  });
});

describe('gRPC', () => {
  const asTheyAre = (bytes: Buffer): Buffer => bytes;
  const statusOf = (path: string, metadata: Record<string, string>): Promise<ServiceError | undefined> => {
    const client = new Client(world.grpcAddress, credentials.createInsecure());
    const sent = new Metadata();
    for (const [name, value] of Object.entries(metadata)) sent.set(name, value);
    return new Promise((resolve) => {
      client.makeUnaryRequest(path, asTheyAre, asTheyAre, Buffer.alloc(0), sent, (error) => {
        client.close();
        resolve(error ?? undefined);
      });
    });
  };

  it('serves every call of the service [GRPC-SVC-001 GRPC-SVC-002]', async () => {
    for (const operation of Object.keys(ROUTES)) {
      const error = await statusOf(`/lf.a2a.v1.A2AService/${operation}`, HEADERS);
      // UNIMPLEMENTED is what a call gets that does not exist.
      expect(error?.code, operation).not.toBe(12);
    }
    expect((await statusOf('/lf.a2a.v1.A2AService/Nothing', HEADERS))?.code).toBe(12);
  });

  it('takes version and extensions from metadata [GRPC-META-001]', async () => {
    const error = await statusOf('/lf.a2a.v1.A2AService/ListTasks', { ...HEADERS, 'a2a-version': '9.9' });
    expect(error?.code).toBe(9);
    expect(await statusOf('/lf.a2a.v1.A2AService/ListTasks', HEADERS)).toBeUndefined();
  });

  it('has a reason in the details of an error [GRPC-ERR-001 GRPC-ERR-002 CORE-ERR-004]', async () => {
    const refusal = await world.speak('GRPC').refused('GetTask', { id: NO_TASK });
    expect(refusal).toMatchObject({ code: 5, reason: 'TASK_NOT_FOUND', domain: 'a2a-protocol.org' });
    expect(refusal.details).toContain('google.rpc.ErrorInfo');
  });

  it('streams with server-streaming calls [GRPC-ERR-003]', async () => {
    const items = await (await world.speak('GRPC').stream('@stream 2 0')).rest();
    expect(items.length).toBeGreaterThan(3);
  });
});
