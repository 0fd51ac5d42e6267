import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

import { listenBefore } from '../support/listen-before.ts';

/** A line to a database that can go silent, as a network does: nothing is refused, nothing arrives. */
export interface PartitionProxy extends AsyncDisposable {
  /** The same database, by way of the proxy. */
  readonly url: string;
  /** Nothing goes through any more, in either direction. */
  silence(): void;
  /** What was on its way arrives late, and all goes on. */
  heal(): void;
  /** As if a router had forgotten everything: all lines are dead, and new ones are refused until `heal`. */
  sever(): void;
  /** The server gets the next COMMIT of a transaction that says this, and the line breaks before its answer. */
  loseCommitOf(marker: string): void;
  readonly commitsLost: number;
}

export const startPartitionProxy = async (url: string): Promise<PartitionProxy> => {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let state: 'open' | 'silent' | 'severed' = 'open';
  let doomed: string | undefined;
  let commitsLost = 0;
  const server = createServer({ pauseOnConnect: true }, (client) => {
    if (state === 'severed') {
      client.destroy();
      return;
    }
    let said = '';
    // Statements are pipelined: one packet may hold the end of one transaction and the beginning of the next.
    const isDoomed = (sent: string): boolean => {
      const [end = '', ...begun] = sent.split(/(?=BEGIN)/);
      for (const piece of [end, ...begun]) {
        said = piece.startsWith('BEGIN') ? piece : said + piece;
        if (doomed !== undefined && piece.includes('COMMIT\0') && said.includes(doomed)) return true;
      }
      return false;
    };
    const upstream = connect(Number(target.port || 5432), target.hostname);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('data', (data) => {
        to.write(data);
        if (from !== client || !isDoomed(data.toString('latin1'))) return;
        doomed = undefined;
        commitsLost += 1;
        // What was sent must arrive, so the server's side ends in its own time.
        upstream.removeAllListeners('data').resume().end();
        client.destroy();
      });
      from.on('end', () => to.end());
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        if (!to.writableEnded) to.destroy();
      });
      if (state === 'silent') from.pause();
      else from.resume();
    }
  });
  const proxied = await listenBefore(url, server);
  return {
    url: proxied,
    silence: () => {
      state = 'silent';
      for (const socket of sockets) socket.pause();
    },
    sever: () => {
      state = 'severed';
      for (const socket of sockets) socket.destroy();
    },
    loseCommitOf: (marker) => {
      doomed = marker;
    },
    get commitsLost() {
      return commitsLost;
    },
    heal: () => {
      state = 'open';
      for (const socket of sockets) socket.resume();
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
};
