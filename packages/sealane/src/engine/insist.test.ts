import { expect, it } from 'vitest';

import { type ErrorCode, SealaneError } from '#domain';

import { insist } from './insist.ts';

const attemptThatFailsOnce = (error: Error) => {
  const attempt = { count: 0, problems: [] as unknown[] };
  const result = insist(
    async () => {
      attempt.count += 1;
      if (attempt.count === 1) throw error;
      return 'written';
    },
    { signal: new AbortController().signal, onProblem: (problem) => attempt.problems.push(problem) },
  );
  return { attempt, result };
};

it.each<ErrorCode>(['storage-full', 'unavailable', 'store-unwritable', 'store-locked'])(
  'what an open store refuses as `%s` is tried again',
  async (code) => {
    const error = new SealaneError(code, 'not now');
    const { attempt, result } = attemptThatFailsOnce(error);
    expect(await result).toBe('written');
    expect(attempt).toEqual({ count: 2, problems: [error] });
  },
);

it.each([new SealaneError('store-damaged', 'damaged'), new TypeError('a bug')])(
  'what does not pass is thrown at once: %s',
  async (error) => {
    const { attempt, result } = attemptThatFailsOnce(error);
    await expect(result).rejects.toBe(error);
    expect(attempt).toEqual({ count: 1, problems: [] });
  },
);
