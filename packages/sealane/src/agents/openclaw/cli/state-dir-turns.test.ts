import { describe, expect, it } from 'vitest';

import { takeStateDir } from './state-dir-turns.ts';

const quiet = { signal: new AbortController().signal, onWait: () => undefined };

describe('turns on a state directory', () => {
  it('come in the order of the calls, one at a time', async () => {
    const order: number[] = [];
    let atOnce = 0;
    const work = async (n: number): Promise<void> => {
      const giveBack = await takeStateDir('/nowhere/one', quiet);
      atOnce += 1;
      expect(atOnce).toBe(1);
      await new Promise((resolve) => setImmediate(resolve));
      order.push(n);
      atOnce -= 1;
      giveBack();
    };
    await Promise.all([1, 2, 3, 4].map(work));
    expect(order).toEqual([1, 2, 3, 4]);
  });

  it('do not wait for those of another directory', async () => {
    const giveBack = await takeStateDir('/nowhere/two', quiet);
    const other = await takeStateDir('/nowhere/three', quiet);
    other();
    giveBack();
  });

  it('are given up by whoever is aborted while waiting, and the next one still waits', async () => {
    const first = await takeStateDir('/nowhere/four', quiet);
    const aborting = new AbortController();
    let waits = 0;
    const onWait = (): void => void (waits += 1);
    const second = takeStateDir('/nowhere/four', { signal: aborting.signal, onWait });
    let isThird = false;
    const third = takeStateDir('/nowhere/four', { ...quiet, onWait }).then((giveBack) => {
      isThird = true;
      return giveBack;
    });
    aborting.abort(new Error('no longer wanted'));
    await expect(second).rejects.toThrow('no longer wanted');
    expect({ waits, isThird }).toEqual({ waits: 2, isThird: false });
    first();
    (await third)();
    expect(isThird).toBe(true);
  });
});
