import { describe, expect, it } from 'vitest';

import { createLiveCalls } from './live-calls.ts';

describe('calls under way', () => {
  it('are all ended when everything closes, whatever order the others have left in', () => {
    for (const leaving of [[0], [1], [2], [0, 1], [2, 0], [1, 1], [0, 2, 1]]) {
      const live = createLiveCalls();
      const calls = [live.open(), live.open(), live.open()];
      for (const place of leaving) calls[place]?.[Symbol.dispose]();
      live.closeAll();
      expect(calls.map(({ signal }) => signal.aborted)).toEqual([0, 1, 2].map((place) => !leaving.includes(place)));
    }
  });

  it('end at once when they begin after that, or when their caller leaves', () => {
    const live = createLiveCalls();
    const left = live.open();
    left.leave();
    expect(left.signal.aborted).toBe(true);
    live.closeAll();
    expect(live.isClosing).toBe(true);
    expect(live.open().signal.reason).toMatchObject({ code: 'unavailable' });
  });
});
