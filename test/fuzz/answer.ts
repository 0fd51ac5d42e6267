/** What came back for a request, as far as anything did. */
export type Outcome =
  | { readonly kind: 'http'; readonly answer: HttpAnswer }
  | { readonly kind: 'grpc'; readonly answer: GrpcAnswer }
  /** No answer: none in time, or the connection was closed instead. */
  | { readonly kind: 'none'; readonly why: string };

export interface HttpAnswer {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
  /** Of an event stream: up to the end of its first event. */
  readonly body: Buffer;
}

export interface GrpcAnswer {
  readonly httpStatus: number;
  /** The gRPC status; undefined while a stream goes on. */
  readonly status: number | undefined;
  readonly message: string;
  /** All that was received, headers and trailers as text included. */
  readonly bytes: Buffer;
}

/** Long enough for a machine that has much else to do. */
export const ANSWER_WITHIN_MS = 30_000;
