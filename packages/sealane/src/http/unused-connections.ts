import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Connections on which nothing was ever asked. */
export interface UnusedConnections {
  close(): void;
}

/**
 * Browsers and HTTP clients open connections before they need them. Node does not count those as idle, so they would
 * hold up a closing server until their request timed out.
 */
export const trackUnusedConnections = (server: Server): UnusedConnections => {
  const unused = new Set<Socket>();
  server.on('connection', (socket) => {
    unused.add(socket);
    socket.once('close', () => unused.delete(socket));
  });
  server.on('request', ({ socket }) => unused.delete(socket));
  return {
    close: () => {
      for (const socket of unused) socket.destroy();
    },
  };
};
