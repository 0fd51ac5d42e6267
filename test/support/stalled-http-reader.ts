import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A call about a task, over a connection from which nobody takes more than the beginning of its answer. */
export const openStalledCall = async (
  url: string,
  {
    key,
    method,
    taskId,
    lastEventId,
  }: { readonly key: string; readonly method: string; readonly taskId: string; readonly lastEventId?: number },
): Promise<Socket> => {
  const { hostname, port, host } = new URL(url);
  const socket = connect(Number(port), hostname);
  // Whoever is cut off has nothing to say about it.
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { id: taskId } });
  const resumed = lastEventId === undefined ? '' : `Last-Event-ID: ${lastEventId}\r\n`;
  socket.write(
    `POST /a2a HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${key}\r\nA2A-Version: 1.0\r\n${resumed}` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  await once(socket, 'readable');
  return socket;
};
