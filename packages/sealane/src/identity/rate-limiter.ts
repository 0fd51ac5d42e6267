export interface RateLimiterOptions {
  /** Monotonic or wall clock, in milliseconds. */
  readonly now: () => number;
  /** For keys without a rate of their own. */
  readonly defaultPerMinute?: number;
  /** Requests at once after a rest; without it a whole minute's worth. */
  readonly burst?: number;
  /** Buckets kept at the same time. */
  readonly capacity?: number;
}

export interface RateLimiter {
  /**
   * Takes one request from the key's bucket. Answers 0 when there was one, else after how many milliseconds there
   * will be; a refused request costs nothing. `perMinute` null is the default rate, `Infinity` no limit.
   */
  take(key: string, perMinute: number | null): number;
}

interface Bucket {
  tokens: number;
  filledAt: number;
}

/** A token bucket per key. A bucket that makes room for another comes back full, which is why capacity is generous. */
export const createRateLimiter = ({
  now,
  defaultPerMinute = 6000,
  burst,
  capacity = 10_000,
}: RateLimiterOptions): RateLimiter => {
  const buckets = new Map<string, Bucket>();
  return {
    take: (key, perMinute) => {
      const rate = perMinute ?? defaultPerMinute;
      if (rate === Infinity) return 0;
      const room = burst ?? rate;
      const at = now();
      let bucket = buckets.get(key);
      if (bucket === undefined) {
        if (buckets.size >= capacity) {
          const [oldest] = buckets.keys();
          if (oldest !== undefined) buckets.delete(oldest);
        }
        bucket = { tokens: room, filledAt: at };
        buckets.set(key, bucket);
      } else {
        // A clock that steps back must not drain the bucket.
        const elapsedMs = Math.max(0, at - bucket.filledAt);
        bucket.tokens = Math.min(room, bucket.tokens + (elapsedMs * rate) / 60_000);
        bucket.filledAt = at;
      }
      if (bucket.tokens >= 1) {
        bucket.tokens -= 1;
        return 0;
      }
      return Math.max(1, Math.ceil(((1 - bucket.tokens) * 60_000) / rate));
    },
  };
};
