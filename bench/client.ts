import { connect, type Socket } from 'node:net';

import { createResponseReader } from './http-response.ts';

/** What an exchange of one request and one response tells its caller. */
export interface Exchange {
  /** The chunk is only valid until the next read; `last` is set when the response is known to end with it. */
  body(chunk: Buffer, last: boolean): void;
  /** The response is complete; the next request may be sent from here. */
  end(status: number): void;
  fail(error: Error): void;
}

/** A kept connection with at most one request in flight. */
export interface Connection extends Disposable {
  send(request: string, exchange: Exchange): void;
}

/**
 * Opens a connection that reads into one buffer of its own and allocates next to nothing per response, so that the
 * client stays far cheaper than any server it measures.
 */
export const openConnection = (port: number): Promise<Connection> => {
  const { promise, resolve, reject } = Promise.withResolvers<Connection>();
  let current: Exchange | undefined;
  let status = 0;

  const read = createResponseReader({
    head: (code) => {
      status = code;
    },
    body: (chunk, last) => current?.body(chunk, last),
    end: () => {
      const done = current;
      current = undefined;
      done?.end(status);
    },
  });

  const fail = (error: Error): void => {
    const failed = current;
    current = undefined;
    reject(error);
    failed?.fail(error);
  };

  const socket: Socket = connect({
    port,
    host: '127.0.0.1',
    noDelay: true,
    onread: {
      buffer: Buffer.allocUnsafe(65_536),
      callback: (length, buffer) => {
        try {
          read((buffer as Buffer).subarray(0, length));
        } catch (error) {
          socket.destroy(error as Error);
        }
        return true;
      },
    },
  });
  socket.once('connect', () => {
    resolve({
      send: (request, exchange) => {
        current = exchange;
        socket.write(request, 'latin1');
      },
      [Symbol.dispose]: () => socket.destroy(),
    });
  });
  socket.once('error', fail);
  socket.once('close', () => fail(new Error('the server closed the connection')));
  return promise;
};
