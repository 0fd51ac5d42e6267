import { once } from 'node:events';
import { Agent, createServer, get as httpGet, type IncomingMessage, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';

import { AgentCard, SendMessageRequest, verifyAgentCardSignature } from '@a2a-js/sdk';
import {
  ClientFactory,
  ClientFactoryOptions,
  createAuthenticatingFetchWithRetry,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client';
import * as old from 'a2a-sdk-0.3/client';
import type { JSONWebKeySet } from 'jose';
import { createEchoAgent } from 'sealane';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { freshFolder, serve } from './support/served-process.ts';
import { ADMIN_KEY, openService, type TestService } from './support/service.ts';

let service: TestService;
beforeAll(async () => {
  const connector = createEchoAgent();
  service = await openService({
    agents: { echo: { connector, default: true, public: true }, writer: { connector }, secret: { connector } },
  });
});
afterAll(() => service.close());

/** Reads cards as everybody may, and calls with the key. */
const keyed = (key: string): typeof fetch =>
  createAuthenticatingFetchWithRetry(fetch, {
    headers: async () => ({ Authorization: `Bearer ${key}` }),
    shouldRetryWithHeaders: async () => undefined,
  });
const BINDINGS = ['JSONRPC', 'HTTP+JSON'] as const;

const newFactory = (binding: string): ClientFactory => {
  const fetchImpl = keyed(ADMIN_KEY);
  return new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl })],
      preferredTransports: [binding],
      cardResolver: new DefaultAgentCardResolver({}),
    }),
  );
};
const oldFactory = (binding: string, key = ADMIN_KEY): old.ClientFactory => {
  const fetchImpl = keyed(key);
  return new old.ClientFactory(
    old.ClientFactoryOptions.createFrom(old.ClientFactoryOptions.default, {
      transports: [new old.JsonRpcTransportFactory({ fetchImpl }), new old.RestTransportFactory({ fetchImpl })],
      preferredTransports: [binding],
      cardResolver: new old.DefaultAgentCardResolver({}),
    }),
  );
};
const hello = () => ({ messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'hello' }] });
const oldHello = (): Parameters<old.Client['sendMessage']>[0]['message'] => ({
  kind: 'message',
  messageId: crypto.randomUUID(),
  role: 'user',
  parts: [{ kind: 'text', text: 'hello' }],
});

describe('from the same address', () => {
  it.each(BINDINGS)('a client of A2A 1.0 finds its way over %s', async (binding) => {
    const client = await newFactory(binding).createFromUrl(service.url);
    const answer = await client.sendMessage(SendMessageRequest.fromJSON({ message: hello() }));
    expect(JSON.stringify(answer)).toContain('hello');
    expect(answer).toHaveProperty('status');
  });

  it.each(BINDINGS)('a client of A2A 1.0 that does not say so finds its way over %s', async (binding) => {
    const card = AgentCard.fromJSON(await (await fetch(`${service.url}/.well-known/agent-card.json`)).json());
    const client = await newFactory(binding).createFromAgentCard(card);
    expect(client.protocolVersion).toBe('1.0');
    const answer = await client.sendMessage(SendMessageRequest.fromJSON({ message: hello() }));
    expect(answer).toHaveProperty('status');
  });

  it.each(BINDINGS)('a client of A2A 0.3 finds its way over %s', async (binding) => {
    const client = await oldFactory(binding).createFromUrl(service.url);
    const answer = await client.sendMessage({ message: oldHello(), configuration: { blocking: true } });
    expect(answer).toMatchObject({ kind: 'task', status: { state: 'completed' } });
  });

  it('a client of A2A 0.3 reads who may call, and the extended card with its key', async () => {
    const shown = await new old.DefaultAgentCardResolver({}).resolve(service.url);
    expect(shown).toMatchObject({
      securitySchemes: { bearer: { type: 'http', scheme: 'Bearer' } },
      security: [{ bearer: [] }],
    });
    const made = await service.admin.post<{ key: string }>('/keys', { name: 'ann', agents: ['echo', 'writer'] });
    for (const binding of BINDINGS) {
      const client = await oldFactory(binding, made.key).createFromUrl(service.url);
      const card = await client.getAgentCard();
      expect(card.skills.map(({ id }) => id)).toEqual(['echo', 'writer']);
    }
  });

  it('a client of A2A 0.2 finds its card', async () => {
    const card = (await (await fetch(`${service.url}/.well-known/agent.json`)).json()) as { url: string };
    const client = await old.A2AClient.fromCardUrl(`${service.url}/.well-known/agent.json`, {
      fetchImpl: keyed(ADMIN_KEY),
    });
    const answer = await client.sendMessage({ message: oldHello(), configuration: { blocking: true } });
    expect(answer).toMatchObject({ result: { kind: 'task', status: { state: 'completed' } } });
    expect(card.url).toBe(`${service.url}/a2a`);
  });
});

describe('a signature', () => {
  it('is verified with the keys that it points to, after a rotation as well', async () => {
    const verify = verifyAgentCardSignature(async (kid, jku = '') => {
      const { keys } = (await (await fetch(jku)).json()) as JSONWebKeySet;
      const key = keys.find((found) => found.kid === kid);
      if (!key) throw new Error(`No key ${kid} at ${jku}.`);
      return key;
    });
    const load = async () => (await (await fetch(`${service.url}/.well-known/agent-card.json`)).json()) as AgentCard;
    const before = await load();
    await verify(before);
    await service.admin.post('/card-keys/rotate', {});
    const after = await load();
    expect(after.signatures).toHaveLength(2);
    await verify(before);
    await verify(after);
    // The SDK prints each signature that does not hold.
    vi.spyOn(console, 'debug').mockImplementation(() => undefined);
    await expect(verify({ ...after, description: 'Something else.' })).rejects.toThrow('No valid signatures');
  });
});

it('a thousand names for the service get a card each, with that name on it', async () => {
  const port = Number(new URL(service.url).port);
  const agent = new Agent({ keepAlive: true });
  for (let n = 1; n <= 1000; n += 1) {
    const headers = { host: `localhost:${n}` };
    const asked = httpGet({ agent, port, host: '127.0.0.1', path: '/.well-known/agent-card.json', headers });
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    const { url } = JSON.parse(Buffer.concat(await response.toArray()).toString()) as { url: string };
    expect(url).toBe(`${new URL(`http://localhost:${n}`).origin}/a2a`);
  }
  agent.destroy();
});

/** A reverse proxy that serves what is behind it under `/tasks`, and says so as most of them do. */
const openProxy = async (target: string) => {
  const server = createServer((request, response) => {
    const { port } = new URL(target);
    const headers = {
      ...request.headers,
      host: `127.0.0.1:${port}`,
      'x-forwarded-host': request.headers.host,
      'x-forwarded-proto': 'http',
      'x-forwarded-prefix': '/tasks',
    };
    const path = request.url?.replace(/^\/tasks/, '');
    const passed = httpRequest({ host: '127.0.0.1', port, method: request.method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    request.pipe(passed);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/tasks`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};

describe('behind a reverse proxy', () => {
  it('clients get through by the card alone, and it says what the file says about an agent', async () => {
    using folder = freshFolder();
    await using served = await serve(folder.path, {
      env: { SEALANE_TRUSTED_PROXIES: 'loopback, 192.0.2.0/24' },
      config: `agents:
  echo:
    connector: echo
    public: true
    inputModes: [text/plain]
    outputModes: [text/plain, 'image/*']
    extensions: [{ uri: 'urn:example:tone', description: Sets the tone., params: { tones: [dry, warm] } }]
`,
    });
    await using proxy = await openProxy(served.url);
    const path = `${new URL(proxy.url).pathname}/.well-known/agent-card.json`;
    const client = await newFactory('JSONRPC').createFromUrl(proxy.url, path);
    expect(await client.sendMessage(SendMessageRequest.fromJSON({ message: hello() }))).toHaveProperty('status');
    const card = AgentCard.fromJSON(await (await fetch(new URL(path, proxy.url))).json());
    expect(card.supportedInterfaces[0]?.url).toBe(`${proxy.url}/a2a`);
    expect(card).toMatchObject({
      defaultInputModes: ['text/plain'],
      defaultOutputModes: ['text/plain', 'image/*'],
      capabilities: { extensions: [{}, { uri: 'urn:example:tone', params: { tones: ['dry', 'warm'] } }] },
    });
  });

  it('a proxy that nobody named is not believed', async () => {
    await using proxy = await openProxy(service.url);
    const card = (await (await fetch(`${proxy.url}/.well-known/agent-card.json`)).json()) as { url: string };
    expect(card.url).toBe(`${service.url}/a2a`);
  });
});
