import { connect, createServer, type Socket } from 'node:net';

import { describe, expect, it, onTestFinished } from 'vitest';

import { freshSchema } from '../support/fresh-schema.ts';
import { listenBefore } from '../support/listen-before.ts';
import { admission, firstWake, open } from '../support/postgres-stores.ts';

interface SilentLine {
  readonly url: string;
  /** From now on nothing passes over the connections there are, and nobody is told. */
  fallSilent(): void;
  /** Connections break, and new ones are taken but never answered. */
  hang(): void;
}

/** A line to a server whose other end can go away without a word. */
const openLine = async (url: string): Promise<SilentLine> => {
  const target = new URL(url);
  const lines = new Set<{ readonly client: Socket; readonly upstream: Socket }>();
  let isHanging = false;
  const server = createServer((client) => {
    client.on('error', () => {});
    if (isHanging) return;
    const upstream = connect(Number(target.port || 5432), target.hostname);
    upstream.on('error', () => {});
    client.pipe(upstream).pipe(client);
    lines.add({ client, upstream });
  });
  const proxied = await listenBefore(url, server);
  onTestFinished(() => {
    for (const { client } of lines) client.destroy();
    server.close();
  });
  return {
    url: proxied,
    fallSilent: () => {
      for (const { client, upstream } of lines) {
        client.unpipe(upstream);
        upstream.unpipe(client);
        client.resume();
        upstream.resume();
      }
    },
    hang: () => {
      isHanging = true;
      for (const { client } of lines) client.destroy();
    },
  };
};

describe('when the other end of the line to PostgreSQL goes away without a word', () => {
  it('an instance that only listens hears of others again within seconds', async () => {
    const options = freshSchema();
    const line = await openLine(options.url);
    const [here, there] = [await open({ ...options, url: line.url }), await open(options)];
    line.fallSilent();
    // It says so when it listens anew.
    await firstWake(here, (ids) => ids.length === 0);
    const one = admission();
    const arrival = firstWake(here, (ids) => ids.includes(one.id));
    await there.tasks.admit(one);
    await arrival;
  }, 20_000);

  it('a call is refused when a new connection was not answered in time, not after many of them', async () => {
    const options = freshSchema();
    const line = await openLine(options.url);
    const storage = await open({ ...options, url: line.url });
    line.hang();
    await expect(storage.tasks.find('all', 'any')).rejects.toMatchObject({ code: 'unavailable' });
  }, 20_000);
});
