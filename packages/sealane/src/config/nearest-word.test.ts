import { assert, property, string } from 'fast-check';
import { expect, test } from 'vitest';

import { editDistance, nearestWord } from './nearest-word.ts';

test.each([
  ['prot', 'port'],
  ['ttlDay', 'ttlDays'],
  ['timeoutMinuets', 'timeoutMinutes'],
  ['DATADIR', 'dataDir'],
  ['hots', 'host'],
])('%s probably means %s', (word, meant) => {
  expect(nearestWord(word, ['port', 'host', 'dataDir', 'ttlDays', 'timeoutMinutes'])).toBe(meant);
});

test('a word that resembles none gets no suggestion', () => {
  expect(nearestWord('colour', ['port', 'host', 'store'])).toBeUndefined();
  expect(nearestWord('x', [])).toBeUndefined();
});

test('the distance is symmetric, zero only for equal words, and never more than the longer word', () => {
  const word = string({ maxLength: 8 });
  assert(
    property(word, word, (a, b) => {
      const distance = editDistance(a, b);
      expect(distance).toBe(editDistance(b, a));
      expect(distance === 0).toBe(a === b);
      expect(distance).toBeLessThanOrEqual(Math.max(a.length, b.length));
    }),
  );
});
