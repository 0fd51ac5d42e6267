import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer, text } from 'node:stream/consumers';

import { expect, it } from 'vitest';

interface Sent {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly { readonly key: string; readonly value: unknown }[] };
    readonly scopeSpans: readonly { readonly spans: readonly { readonly name: string }[] }[];
  }[];
}

/** A place that takes OTLP over HTTP and keeps what it was sent; one that is silent never answers. */
const openCollector = async ({ isSilent = false } = {}) => {
  const sent: Sent[] = [];
  const server = createServer((request, response) => {
    void buffer(request).then((body) => {
      sent.push(JSON.parse(body.toString('utf8')) as Sent);
      if (!isSilent) response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    },
    spans: () =>
      sent.flatMap(({ resourceSpans }) =>
        resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans.map(({ name }) => name))),
      ),
    resource: () =>
      Object.fromEntries(
        (sent[0]?.resourceSpans[0]?.resource.attributes ?? []).map(({ key, value }) => [
          key,
          (value as { stringValue?: string }).stringValue,
        ]),
      ),
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
};

/** A program that embeds services; `open(agent)` gives one, `ask(service)` lets its agent answer. */
const PRELUDE = `
import { createEchoAgent, createSealane } from 'sealane';
const open = (agent) => createSealane({ store: 'memory', agents: { [agent]: createEchoAgent() } });
const caller = { owner: 'me', keyId: 'x', admin: false, agents: null, permission: 'guarded', tenant: '' };
const ask = (service) => service.tasks.send(
  caller,
  { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hello' }] }, dialect: '1.0' },
  { wait: true, signal: new AbortController().signal },
);
`;

const runProgram = async (program: string, env: Readonly<Record<string, string>>): Promise<string> => {
  const flags = ['--conditions=sealane:source', '--disable-warning=ExperimentalWarning', '--input-type=module'];
  const child = spawn(process.execPath, [...flags, '--eval', `${PRELUDE}${program}`, 'a-secret-word'], {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  const closed = once(child, 'close') as Promise<[number | null]>;
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout.trim();
};

it('services of one process have their spans each, after another one was closed, too', async () => {
  await using collector = await openCollector();
  const program = `
    const [first, second] = [await open('first'), await open('second')];
    await ask(first);
    await first.close();
    await ask(second);
    await second.close();
    const third = await open('third');
    await ask(third);
    await third.close();
  `;
  await runProgram(program, collector.env);
  expect(collector.spans()).toEqual(['invoke_agent first', 'invoke_agent second', 'invoke_agent third']);
});

it('spans name their service as the variables say, else sealane, tell nothing of the command line, and leave the environment alone', async () => {
  const program = `
    const before = JSON.stringify(process.env);
    const service = await open('echo');
    await ask(service);
    await service.close();
    console.log(before === JSON.stringify(process.env));
  `;
  const resourceOf = async (env: Readonly<Record<string, string>>) => {
    await using collector = await openCollector();
    expect(await runProgram(program, { ...collector.env, ...env })).toBe('true');
    expect(JSON.stringify(collector.resource())).not.toMatch(/a-secret-word/);
    return collector.resource();
  };
  expect(await resourceOf({})).toMatchObject({ 'service.name': 'sealane' });
  expect(await resourceOf({ OTEL_SERVICE_NAME: 'desk' })).toMatchObject({ 'service.name': 'desk' });
  expect(await resourceOf({ OTEL_RESOURCE_ATTRIBUTES: 'service.name=desk,team=blue' })).toMatchObject({
    'service.name': 'desk',
    team: 'blue',
  });
});

it('a collector that does not answer is not waited for when a service closes', async () => {
  await using collector = await openCollector({ isSilent: true });
  const program = `
    const service = await open('echo');
    await ask(service);
    const begun = performance.now();
    await service.close();
    console.log(performance.now() - begun);
    process.exit();
  `;
  // The library would wait for ten minutes.
  const env = { ...collector.env, OTEL_EXPORTER_OTLP_TIMEOUT: '600000' };
  expect(Number(await runProgram(program, env))).toBeLessThan(30_000);
  expect(collector.spans()).toEqual(['invoke_agent echo']);
});

it('a program that has set up OpenTelemetry itself gets the spans', async () => {
  await using collector = await openCollector();
  const program = `
    const { trace } = await import('@opentelemetry/api');
    const names = [];
    const span = { spanContext: () => ({ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: 1 }), setAttribute: () => span, setStatus: () => span, end: () => undefined };
    trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan: (name) => { names.push(name); return span; } }) });
    const service = await open('echo');
    await ask(service);
    await service.close();
    console.log(names.join());
  `;
  expect(await runProgram(program, collector.env)).toBe('invoke_agent echo');
  expect(collector.spans()).toEqual([]);
});
