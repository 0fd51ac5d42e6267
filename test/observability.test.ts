import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openSqlite } from '../packages/sealane/src/store/sqlite/index.ts';
import { eventually } from './support/eventually.ts';
import { talkRaw } from './support/raw-http.ts';
import { freshFolder, serve } from './support/served-process.ts';
import { openService, type TestService } from './support/service.ts';

interface Span {
  readonly name: string;
  readonly traceId: string;
  readonly parentSpanId?: string;
  readonly attributes: readonly {
    readonly key: string;
    readonly value: { readonly stringValue?: string; readonly intValue?: number };
  }[];
}

/** A place that takes OTLP over HTTP and keeps what it was sent. */
const openCollector = async () => {
  const bodies: string[] = [];
  const server: Server = createServer((request, response) => {
    void buffer(request).then((body) => {
      bodies.push(body.toString('utf8'));
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies,
    spans: (): readonly Span[] =>
      bodies.flatMap((body) => {
        const { resourceSpans } = JSON.parse(body) as { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] };
        return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
      }),
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
};

describe('metrics', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await openService();
  });
  afterAll(() => service.close());

  const metrics = async (): Promise<string> => (await fetch(`${service.url}/metrics`)).text();
  const valueOf = (text: string, line: string): number => {
    const found = text.split('\n').find((candidate) => candidate.startsWith(`${line} `));
    return Number(found?.split(' ').at(-1));
  };

  it('count what was admitted, finished, refused and is under way', async () => {
    await service.client.send('hello');
    await service.client.send('@fail no');
    const sleeping = await service.client.submit('@sleep 600000', { contextId: 'x' });
    await service.client.submit('waits', { contextId: 'x' });
    const text = await metrics();
    expect(valueOf(text, 'sealane_tasks_admitted_total{agent="echo",queued="false"}')).toBe(3);
    expect(valueOf(text, 'sealane_tasks_admitted_total{agent="echo",queued="true"}')).toBe(1);
    expect(valueOf(text, 'sealane_tasks_finished_total{agent="echo",state="completed",reason=""}')).toBe(1);
    expect(valueOf(text, 'sealane_tasks_finished_total{agent="echo",state="failed",reason="agent"}')).toBe(1);
    expect(valueOf(text, 'sealane_turns_waiting')).toBe(1);
    expect(valueOf(text, 'sealane_turns_running')).toBe(1);
    expect(valueOf(text, 'sealane_runs{agent="echo"}')).toBe(1);
    expect(valueOf(text, 'sealane_queue_age_seconds')).toBeGreaterThanOrEqual(0);
    await service.client.cancel(sleeping.id);
  });

  it('count calls by method and outcome, answers by route, streams, commits and events', async () => {
    await service.client.call('GetTask', { id: 'x' }).catch(() => undefined);
    const stream = await service.client.stream('@stream 5 0');
    await stream.rest();
    const text = await metrics();
    expect(valueOf(text, 'sealane_call_seconds_count{method="GetTask",outcome="task-not-found"}')).toBe(1);
    expect(valueOf(text, 'sealane_http_answers_total{route="/a2a",status="200"}')).toBeGreaterThan(1);
    expect(valueOf(text, 'sealane_streams')).toBe(0);
    expect(valueOf(text, 'sealane_commit_seconds_count')).toBeGreaterThan(1);
    expect(text).toMatch(/^process_resident_memory_bytes /m);
  });

  it('never tell what anybody said, or who', async () => {
    const client = await service.clientOf('very-private-owner');
    const task = await client.send('very private words', { contextId: 'very-private-context' });
    const text = await metrics();
    for (const secret of ['very-private-owner', 'very private words', 'very-private-context', task.id])
      expect(text).not.toContain(secret);
  });

  it('are shown to callers on this machine without a key, and to no proxy', async () => {
    for (const name of ['X-Forwarded-For', 'X-Forwarded-Proto', 'X-Real-IP', 'Forwarded', 'Via', 'CF-Connecting-IP']) {
      const forwarded = await fetch(`${service.url}/metrics`, { headers: { [name]: '203.0.113.1' } });
      expect([name, forwarded.status]).toEqual([name, 401]);
    }
    const { host } = new URL(service.url);
    const plain = await talkRaw(service.url, `GET /metrics HTTP/1.0\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    expect(plain.status).toBe(401);
    const withKey = await fetch(`${service.url}/metrics`, {
      headers: { 'x-forwarded-for': '203.0.113.1', authorization: 'Bearer the-admin-key' },
    });
    expect(withKey.status).toBe(200);
  });
});

describe('health', () => {
  it('tells that the service is alive and ready, and not ready when its store is gone', async () => {
    const service = await openService();
    for (const path of ['/healthz', '/readyz']) {
      const response = await fetch(service.url + path);
      expect([path, response.status, await response.json()]).toEqual([path, 200, { status: 'ok' }]);
    }
    expect(await service.admin.get('/health')).toEqual({
      store: 'ok',
      agents: [{ name: 'echo', ok: true, detail: 'built in' }],
    });
    await service.sealane.storage.close();
    const response = await fetch(`${service.url}/readyz`);
    expect(response.status).toBe(503);
    expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
    await service.close().catch(() => undefined);
  });

  it('is looked up once for all who ask at the same time: strangers do not keep the store busy', async () => {
    const storage = await openSqlite({ file: ':memory:' });
    const held = Promise.withResolvers<undefined>();
    let looks = 0;
    const check = (): Promise<undefined> => {
      looks += 1;
      return held.promise;
    };
    await using service = await openService({ store: { ...storage, upkeep: { ...storage.upkeep, check } } });
    const asked = Array.from({ length: 20 }, () => fetch(`${service.url}/readyz`));
    await fetch(`${service.url}/healthz`);
    await eventually(() => expect(looks).toBe(1));
    held.resolve(undefined);
    expect(new Set((await Promise.all(asked)).map(({ status }) => status))).toEqual(new Set([200]));
    expect(looks).toBeLessThan(20);
    await service.close();
    await storage.close();
  });
});

describe('traces', () => {
  it("go where OTEL_EXPORTER_OTLP_ENDPOINT says, under the caller's trace, and contain nothing that was said", async () => {
    using folder = freshFolder();
    await using collector = await openCollector();
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' };
    await using service = await serve(folder.path, {
      env,
      config:
        'agents: { echo: { connector: echo, default: true }, trace: { connector: command, command: [printenv, TRACEPARENT] } }\n',
    });
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
    const headers = { traceparent: `00-${trace}-00f067aa0ba902b7-01` };
    const task = await service.client.send('words that nobody else may read', { headers, contextId: 'the-context' });
    await service.client.send('@fail words of the agent', { headers });
    const traced = await service.client.with({ path: '/agents/trace' }).send('show', { headers });
    // The last spans are sent when the service stops.
    expect(await service.stop()).toBe(0);

    const spans = await eventually(() => {
      expect(collector.spans()).toHaveLength(3);
      return collector.spans();
    });
    expect(spans.map(({ name }) => name)).toEqual(['invoke_agent echo', 'invoke_agent echo', 'invoke_agent trace']);
    expect(spans.every(({ traceId, parentSpanId }) => traceId === trace && parentSpanId === '00f067aa0ba902b7')).toBe(
      true,
    );
    const attributes = Object.fromEntries(
      spans[0]!.attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]),
    );
    expect(attributes).toMatchObject({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'echo',
      'gen_ai.conversation.id': 'the-context',
      'sealane.task.id': task.id,
      'sealane.task.state': 'completed',
    });
    expect(collector.bodies.join('')).not.toMatch(/nobody else may read|words of the agent/);
    // The program's own spans hang below the span of its run.
    expect(traced.artifacts![0]!.parts[0]!.text).toMatch(
      new RegExp(`^00-${trace}-(?!00f067aa0ba902b7)[0-9a-f]{16}-01`),
    );
  });
});
