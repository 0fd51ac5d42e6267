import { once } from 'node:events';

import { decodeErrorInfo, decodeStatus } from '@a2a-js/sdk/errors/grpc';
import {
  Client,
  type ClientReadableStream,
  credentials,
  Metadata,
  type MetadataValue,
  type ServiceError,
  status,
} from '@grpc/grpc-js';

export interface Answered {
  readonly bytes: Buffer;
  /** What came before the answer. */
  readonly initial: Metadata;
}

export interface CallOptions {
  /** Without one the key of the caller is sent; null sends none. */
  readonly key?: string | null;
  readonly metadata?: Readonly<Record<string, MetadataValue>>;
  readonly deadlineMs?: number;
}

/** Calls that see everything that goes over the wire: bytes, metadata and the status. */
export interface GrpcCaller extends Disposable {
  unary(path: string, bytes: Buffer, options?: CallOptions): Promise<Answered>;
  stream(path: string, bytes: Buffer, options?: CallOptions): GrpcReader;
}

export interface GrpcReader extends AsyncIterable<Buffer> {
  readonly call: ClientReadableStream<Buffer>;
  readonly initial: Promise<Metadata>;
}

const asTheyAre = (bytes: Buffer): Buffer => bytes;

export const createGrpcCaller = (address: string, key: string): GrpcCaller => {
  const client = new Client(address, credentials.createInsecure());
  const metadataOf = (options: CallOptions): Metadata => {
    const metadata = new Metadata();
    const sent = options.key === undefined ? key : options.key;
    if (sent !== null) metadata.set('authorization', `Bearer ${sent}`);
    for (const [name, value] of Object.entries(options.metadata ?? {})) metadata.set(name, value);
    return metadata;
  };
  const settings = ({ deadlineMs }: CallOptions) =>
    deadlineMs === undefined ? {} : { deadline: Date.now() + deadlineMs };
  return {
    unary: (path, bytes, options = {}) =>
      new Promise((resolve, reject) => {
        let initial = new Metadata();
        client
          .makeUnaryRequest(
            path,
            asTheyAre,
            asTheyAre,
            bytes,
            metadataOf(options),
            settings(options),
            (error, answer) => {
              if (error) reject(error);
              else resolve({ bytes: answer ?? Buffer.alloc(0), initial });
            },
          )
          .on('metadata', (metadata) => (initial = metadata));
      }),
    stream: (path, bytes, options = {}) => {
      const call = client.makeServerStreamRequest(
        path,
        asTheyAre,
        asTheyAre,
        bytes,
        metadataOf(options),
        settings(options),
      );
      const initial = once(call, 'metadata').then(([metadata]) => metadata as Metadata);
      // Whoever does not look at it does not want to hear that there was none.
      initial.catch(() => undefined);
      return { call, initial, [Symbol.asyncIterator]: () => call[Symbol.asyncIterator]() as AsyncIterator<Buffer> };
    },
    [Symbol.dispose]: () => client.close(),
  };
};

export interface Refusal {
  readonly status: string;
  readonly message: string;
  readonly reason: string | undefined;
  readonly domain: string | undefined;
  readonly facts: Readonly<Record<string, string>>;
  /** The types of all details, without what they have in common. */
  readonly details: readonly string[];
}

/** How a call was refused, that must not succeed. */
export const grpcRefusalOf = async (call: Promise<unknown>): Promise<Refusal> => {
  const error = await call.then(
    (value) => {
      throw new Error(`The call was expected to be refused: ${JSON.stringify(value)}`);
    },
    (thrown: unknown) => thrown as ServiceError,
  );
  if (typeof error.code !== 'number') throw error;
  const [encoded] = error.metadata.get('grpc-status-details-bin');
  const details = encoded === undefined ? [] : decodeStatus(Buffer.from(encoded)).details;
  const [info] = details
    .filter(({ typeUrl }) => typeUrl.endsWith('google.rpc.ErrorInfo'))
    .map(({ value }) => decodeErrorInfo(value));
  return {
    status: status[error.code] ?? String(error.code),
    message: error.details,
    reason: info?.reason,
    domain: info?.domain,
    facts: info?.metadata ?? {},
    details: details.map(({ typeUrl }) => typeUrl.replace('type.googleapis.com/google.rpc.', '')),
  };
};
