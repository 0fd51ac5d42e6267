import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

import { listenBefore } from './listen-before.ts';

/** What to do with something that a client sends: let it through, or cut the line before or after the server has it. */
export type Verdict = 'pass' | 'cut-before' | 'cut-after';

export interface CuttingProxy extends AsyncDisposable {
  /** The same database, by way of the proxy. */
  readonly url: string;
  judge(rule: (sent: string) => Verdict): void;
}

/** A line to a server that breaks where a test wants it to. */
export const startCuttingProxy = async (url: string): Promise<CuttingProxy> => {
  const target = new URL(url);
  let rule: (sent: string) => Verdict = () => 'pass';
  const lines = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(target.port || 5432), target.hostname);
    const cut = (): void => {
      client.destroy();
      // What was sent must arrive, so the server's side ends in its own time.
      upstream.end();
      upstream.resume();
    };
    for (const socket of [client, upstream]) {
      lines.add(socket);
      socket.on('error', cut).on('close', () => {
        lines.delete(socket);
        cut();
      });
    }
    client.on('data', (data) => {
      const verdict = rule(data.toString('latin1'));
      if (verdict !== 'cut-before') upstream.write(data);
      if (verdict !== 'pass') cut();
    });
    upstream.on('data', (data) => client.writable && client.write(data));
  });
  const proxied = await listenBefore(url, server);
  return {
    url: proxied,
    judge: (next) => {
      rule = next;
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of lines) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
};
