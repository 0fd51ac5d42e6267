import type { Draw } from './draw.ts';

/** A request over HTTP as it goes out, byte for byte. */
export interface HttpRequest {
  readonly binding: 'rpc' | 'rest';
  /** What it was before it was changed, like `1.0 SendMessage`. */
  readonly label: string;
  readonly method: string;
  readonly path: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Undefined is none at all. */
  readonly body: Buffer | undefined;
  readonly named: Named;
}

/** Whoever reads on from an event may have seen everything already. */
export const isResumed = ({ headers }: HttpRequest): boolean =>
  headers.some(([name]) => name.toLowerCase() === 'last-event-id');

/** A gRPC call below any client: its frames can be wrong too. */
export interface GrpcRequest {
  readonly binding: 'grpc';
  readonly label: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The length-prefixed message, or what became of it. */
  readonly frames: Buffer;
  /** Whether the frames themselves are those of gRPC, whatever is in them. */
  readonly isFramed: boolean;
  readonly named: Named;
}

export type FuzzRequest = HttpRequest | GrpcRequest;

/** What a request names, as far as that decides what its answer may be. */
export interface Named {
  /** Ids of somebody else. */
  readonly foreign: readonly string[];
  /** Whether the answer to it depends on nothing that it, or another request, might have changed. */
  readonly isRepeatable: boolean;
}

export const namedBy = (draw: Draw, isRepeatable = true): Named => ({
  foreign: [...draw.foreignUsed],
  isRepeatable: isRepeatable && !draw.namesOwn,
});
