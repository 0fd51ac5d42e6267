import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';

export interface ReadStream {
  readonly messages: readonly Buffer[];
  /** The number of the status that ended the stream. */
  readonly status: number;
  readonly statusMessage: string;
  /** `sealane-first-event`. */
  readonly first: number;
}

/** A reader of a gRPC stream that takes nothing until it is told to. The usual clients always read ahead. */
export interface StalledGrpcReader extends Disposable {
  /** Its answer has begun. */
  readonly begun: Promise<unknown>;
  /** Reads to the end. */
  catchUp(): Promise<ReadStream>;
}

export const openStalledReader = (
  address: string,
  path: string,
  bytes: Buffer,
  headers: Readonly<Record<string, string>>,
): StalledGrpcReader => {
  const session: ClientHttp2Session = connect(`http://${address}`);
  session.on('error', () => undefined);
  const stream: ClientHttp2Stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  });
  stream.on('error', () => undefined);
  stream.pause();
  stream.end(frameOf(bytes));
  let first = 0;
  stream.on('response', (response) => (first = Number(response['sealane-first-event'])));
  return {
    begun: new Promise((resolve) => stream.once('response', resolve)),
    catchUp: async () => {
      const trailers = once(stream, 'trailers') as Promise<[Record<string, string>]>;
      const chunks: Buffer[] = [];
      for await (const chunk of stream) chunks.push(chunk as Buffer);
      const [{ 'grpc-status': status, 'grpc-message': message = '' }] = await trailers;
      return {
        messages: messagesOf(Buffer.concat(chunks)),
        status: Number(status),
        statusMessage: decodeURIComponent(message),
        first,
      };
    },
    [Symbol.dispose]: () => session.destroy(),
  };
};

/** A message on the wire: not compressed, its length, itself. */
const frameOf = (bytes: Buffer): Buffer => {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
};

const messagesOf = (received: Buffer): readonly Buffer[] => {
  const messages: Buffer[] = [];
  for (let at = 0; at < received.length;) {
    const end = at + 5 + received.readUInt32BE(at + 1);
    messages.push(received.subarray(at + 5, end));
    at = end;
  }
  return messages;
};
