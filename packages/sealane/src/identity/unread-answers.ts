import { SealaneError } from '#domain';

/** An answer, or a stream of them, as far as nobody has taken it: a response of `node:http` is one. */
export interface Waiting {
  readonly writableLength: number;
}

/**
 * What waits in memory for callers who do not read it, by key. Kernels take a few megabytes of every answer; what is
 * larger stays here, and somebody who asks for large tasks again and again and reads nothing would fill the memory of
 * all.
 */
export interface UnreadAnswers {
  /** Counts an answer until it is disposed of. */
  hold(keyId: string, answer: Waiting): Disposable;
  /**
   * Throws `rate-limited` when so much more would be too much for this key. Small answers are never refused, and one
   * alone may be of any size.
   */
  check(keyId: string, length: number): void;
}

const DEFAULT_LIMIT_BYTES = 128 * 1024 * 1024;
/** Below this an answer is not worth a thought: nobody fills a memory with them. */
const SMALL_LENGTH = 64 * 1024;
const RETRY_MS = 1000;
const NONE: Disposable = { [Symbol.dispose]: () => undefined };

export const createUnreadAnswers = (limitBytes = DEFAULT_LIMIT_BYTES): UnreadAnswers => {
  const held = new Map<string, Set<Waiting>>();
  const lengthOf = (keyId: string): number => {
    let length = 0;
    for (const { writableLength } of held.get(keyId) ?? []) length += writableLength;
    return length;
  };
  if (limitBytes === 0) return { hold: () => NONE, check: () => undefined };
  return {
    hold: (keyId, answer) => {
      let own = held.get(keyId);
      if (!own) held.set(keyId, (own = new Set()));
      own.add(answer);
      return {
        [Symbol.dispose]: () => {
          own.delete(answer);
          if (own.size === 0 && held.get(keyId) === own) held.delete(keyId);
        },
      };
    },
    check: (keyId, length) => {
      if (length < SMALL_LENGTH) return;
      const before = lengthOf(keyId);
      if (before === 0 || before + length <= limitBytes) return;
      throw new SealaneError(
        'rate-limited',
        `Answers of ${Math.round(before / 1024)} KiB to this key have not been read yet, so this one is not sent: read ` +
          'them, or close their connections, and ask again.',
        { retryAfterMs: RETRY_MS, facts: { limit: 'unreadBytes' } },
      );
    },
  };
};
