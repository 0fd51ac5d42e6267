import { describe, expect, it } from 'vitest';

import { createUnreadAnswers } from './unread-answers.ts';

const KIB = 1024;

describe('answers that nobody reads', () => {
  it('are counted together for each key, as long as they wait', () => {
    const unread = createUnreadAnswers(1000 * KIB);
    const [one, two] = [{ writableLength: 600 * KIB }, { writableLength: 300 * KIB }];
    const held = unread.hold('key', one);
    unread.hold('key', two);
    expect(() => unread.check('key', 100 * KIB)).not.toThrow();
    expect(() => unread.check('key', 101 * KIB)).toThrow('Answers of 900 KiB to this key have not been read yet');
    expect(() => unread.check('another', 900 * KIB)).not.toThrow();
    two.writableLength = 0;
    expect(() => unread.check('key', 400 * KIB)).not.toThrow();
    expect(() => unread.check('key', 500 * KIB)).toThrow('600 KiB');
    held[Symbol.dispose]();
    held[Symbol.dispose]();
    expect(() => unread.check('key', 999 * KIB)).not.toThrow();
  });

  it('do not keep a key from small ones, nor from a single one that is larger than the limit', () => {
    const unread = createUnreadAnswers(100 * KIB);
    expect(() => unread.check('key', 5000 * KIB)).not.toThrow();
    unread.hold('key', { writableLength: 5000 * KIB });
    expect(() => unread.check('key', 10 * KIB)).not.toThrow();
    expect(() => unread.check('key', 100 * KIB)).toThrow('5000 KiB');
  });

  it('are not counted where the limit is 0', () => {
    const unread = createUnreadAnswers(0);
    unread.hold('key', { writableLength: 5000 * KIB });
    expect(() => unread.check('key', 5000 * KIB)).not.toThrow();
  });
});
