import { once } from 'node:events';
import { connect } from 'node:net';

/** What came back on a socket: nothing is assumed about it. */
export interface RawAnswer {
  readonly text: string;
  readonly status: number | undefined;
  readonly body: string;
}

/** Writes bytes on a socket and reads until the other side is done, or has said enough. */
export const talkRaw = async (
  url: string,
  bytes: string | Buffer,
  options: { readonly endsAfter?: boolean } = {},
): Promise<RawAnswer> => {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  let text = '';
  socket.setEncoding('utf8');
  socket.on('error', () => undefined);
  const isDone = Promise.withResolvers<void>();
  socket.on('data', (chunk: string) => {
    text += chunk;
    if (isWhole(text)) isDone.resolve();
  });
  socket.on('close', () => isDone.resolve());
  socket.write(bytes);
  if (options.endsAfter) socket.end();
  await isDone.promise;
  socket.destroy();
  const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1];
  return {
    text,
    status: status === undefined ? undefined : Number(status),
    body: text.slice(text.indexOf('\r\n\r\n') + 4),
  };
};

const isWhole = (text: string): boolean => {
  const head = text.indexOf('\r\n\r\n');
  const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1];
  return head !== -1 && length !== undefined && Buffer.byteLength(text.slice(head + 4)) >= Number(length);
};
