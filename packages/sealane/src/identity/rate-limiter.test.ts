import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { createRateLimiter } from './rate-limiter.ts';

describe('the rate limiter', () => {
  it('never admits more than a burst and what the rate gives, whatever the pattern', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 600 }),
        fc.array(fc.integer({ min: 0, max: 5000 }), { maxLength: 300 }),
        (perMinute, pauses) => {
          let now = 0;
          let admitted = 0;
          const limiter = createRateLimiter({ now: () => now });
          for (const pause of pauses) {
            now += pause;
            if (limiter.take('k', perMinute) === 0) admitted += 1;
          }
          expect(admitted).toBeLessThanOrEqual(perMinute + (now * perMinute) / 60_000 + 1e-6);
        },
      ),
    );
  });

  it('gives no more than a burst after the longest rest', () => {
    let now = 0;
    const limiter = createRateLimiter({ now: () => now, burst: 3 });
    limiter.take('k', 60);
    now += 24 * 3600 * 1000;
    expect([1, 2, 3, 4].map(() => limiter.take('k', 60) === 0)).toEqual([true, true, true, false]);
  });

  it('admits the one who waited as long as it was told', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000 }), (perMinute) => {
        let now = 0;
        const limiter = createRateLimiter({ now: () => now, burst: 1 });
        expect(limiter.take('k', perMinute)).toBe(0);
        now += limiter.take('k', perMinute);
        expect(limiter.take('k', perMinute)).toBe(0);
      }),
    );
  });

  it('keeps keys apart, and gives 6000 a minute to those without a rate of their own', () => {
    const limiter = createRateLimiter({ now: () => 0 });
    for (let call = 0; call < 6000; call += 1) expect(limiter.take('a', null)).toBe(0);
    expect(limiter.take('a', null)).toBe(10);
    expect(limiter.take('b', null)).toBe(0);
    for (let call = 0; call < 10_000; call += 1) expect(limiter.take('admin', Infinity)).toBe(0);
  });

  it('stands a clock that steps back', () => {
    let now = 10_000;
    const limiter = createRateLimiter({ now: () => now });
    expect(limiter.take('k', 60)).toBe(0);
    now = 0;
    expect(limiter.take('k', 60)).toBe(0);
  });
});
