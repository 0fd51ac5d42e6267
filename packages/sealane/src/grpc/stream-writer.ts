import { SealaneError } from '#domain';

/** What of a stream of gRPC is needed to write it. */
export interface MessageSink {
  /** `taken` is called when the connection has accepted the message, within its reader's window. */
  write(message: Buffer, taken: () => void): unknown;
}

export type StreamWriter = (message: Buffer) => Promise<void>;

/** What may be under way to a reader; beyond it the reader must have taken something before more is fetched. */
const WINDOW_BYTES = 64 * 1024;

/**
 * Writes messages, each when the reader has room for it: the returned function resolves when the next one may be
 * fetched, so a reader that stalls costs one window and one message. It rejects when the reader took nothing for
 * `stallMs`, and with the signal's reason when that aborts; what was written until then still goes out.
 */
export const createStreamWriter = (sink: MessageSink, stallMs: number, signal: AbortSignal): StreamWriter => {
  let underWay = 0;
  let onTaken: (() => void) | undefined;

  const somethingTaken = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const settle = (settled: () => void): void => {
        clearTimeout(stall);
        signal.removeEventListener('abort', onAbort);
        onTaken = undefined;
        settled();
      };
      const stall = setTimeout(() => settle(() => reject(stalled(stallMs))), stallMs);
      const onAbort = (): void => settle(() => reject(signal.reason as Error));
      signal.addEventListener('abort', onAbort, { once: true });
      onTaken = () => settle(resolve);
    });

  return async (message) => {
    signal.throwIfAborted();
    underWay += message.length;
    sink.write(message, () => {
      underWay -= message.length;
      onTaken?.();
    });
    while (underWay >= WINDOW_BYTES) {
      signal.throwIfAborted();
      await somethingTaken();
    }
  };
};

const stalled = (stallMs: number): SealaneError =>
  new SealaneError(
    'unavailable',
    `Nothing of this stream was taken for ${stallMs / 1000} s. The task goes on: subscribe again with last-event-id.`,
    { retryAfterMs: 1000 },
  );
