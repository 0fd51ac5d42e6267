import type { lookup } from 'node:dns';
import { once } from 'node:events';
import { createServer } from 'node:http';

import { describe, expect, it } from 'vitest';

import { isPrivateAddress } from './private-address.ts';
import { createTargetGuard } from './target-guard.ts';
import { createWebhookClient } from './webhook-client.ts';

describe('an address is inside', () => {
  it.each([
    '0.0.0.0',
    '10.0.0.1',
    '100.64.0.1',
    '100.127.255.255',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.8',
    '192.0.2.1',
    '192.168.1.1',
    '198.18.0.1',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '239.255.255.255',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::127.0.0.1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '0:0:0:0:0:ffff:10.0.0.1',
    '64:ff9b::10.0.0.1',
    '64:ff9b::a9fe:a9fe',
    '64:ff9b:1::1',
    '100::1',
    '2001::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '2002:c0a8:101::1',
    '3fff::1',
    'fc00::1',
    'fdff::1',
    'fe80::1',
    'fe80::1%eth0',
    'fec0::1',
    'ff02::1',
  ])('%s', (address) => {
    expect(isPrivateAddress(address)).toBe(true);
  });
});

describe('an address is public', () => {
  it.each([
    '1.1.1.1',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '192.167.255.255',
    '223.255.255.255',
    '2606:4700:4700::1111',
    '2001:4860:4860::8888',
    '::ffff:8.8.8.8',
    '64:ff9b::8.8.8.8',
    '2002:808:808::1',
  ])('%s', (address) => {
    expect(isPrivateAddress(address)).toBe(false);
  });
});

/** A resolver that knows one name, and counts how often it is asked. */
const resolverOf = (...addresses: readonly string[]) => {
  let asked = 0;
  const resolve = ((_host: string, _options: object, callback: (error: null, found: object[]) => void) => {
    asked += 1;
    process.nextTick(() =>
      callback(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      ),
    );
  }) as unknown as typeof lookup;
  return { resolve, asked: () => asked };
};

/** A server on loopback, and how many connections it got. */
const startServer = async (): Promise<{ port: number; connections: () => number } & AsyncDisposable> => {
  let connections = 0;
  const server = createServer((_request, response) => response.end())
    .on('connection', () => (connections += 1))
    .listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as { port: number }).port,
    connections: () => connections,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
};

describe('a name', () => {
  const request = (port: number) => ({ url: `http://hooks.example.com:${port}/`, headers: {}, body: '{}' });
  const { signal } = new AbortController();

  it.each([[['127.0.0.1']], [['93.184.215.14', '127.0.0.1']], [['::ffff:127.0.0.1']]])(
    'that leads to %s is not connected to',
    async (addresses) => {
      await using server = await startServer();
      const guard = createTargetGuard({ allowPrivate: false, ...resolverOf(...addresses) });
      expect(guard.check(request(server.port).url)).toBeUndefined();
      const client = createWebhookClient({ guard, timeoutMs: 2000 });
      expect(await client.post(request(server.port), signal)).toMatchObject({ kind: 'refused' });
      expect(server.connections()).toBe(0);
      client.close();
    },
  );

  it('is resolved once for its connection, which goes where it led', async () => {
    await using server = await startServer();
    const { resolve, asked } = resolverOf('127.0.0.1');
    const client = createWebhookClient({ guard: createTargetGuard({ allowPrivate: true, resolve }), timeoutMs: 2000 });
    for (let n = 0; n < 3; n += 1)
      expect(await client.post(request(server.port), signal)).toEqual({ kind: 'answered', status: 200 });
    expect([asked(), server.connections()]).toEqual([1, 1]);
    client.close();
  });
});
