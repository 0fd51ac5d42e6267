import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { SealaneError } from '#domain';

import { MAX_DEPTH, parseJson } from './json-text.ts';

const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

describe('parsing a body', () => {
  it('reads what JSON.parse reads, strings full of brackets, quotes and backslashes included', () => {
    const text = fc.string({
      unit: fc.constantFrom('[', ']', '{', '}', '"', '\\', 'a', '\n', '\u00e9', '\ud83d\ude00'),
    });
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue({ maxDepth: 5 }), fc.array(text), fc.dictionary(text, text)), (value) => {
        const json = JSON.stringify(value);
        expect(parseJson(json)).toEqual(JSON.parse(json));
      }),
    );
  });

  it('takes 64 levels and refuses the 65th', () => {
    expect(parseJson(nested(MAX_DEPTH))).toBeDefined();
    expect(() => parseJson(nested(MAX_DEPTH + 1))).toThrow('deeper than 64');
  });

  it('refuses ten thousand levels, closed or not, and brackets behind broken strings, as errors that we know', () => {
    for (const text of [nested(10_000), '['.repeat(10_000), '{"a":'.repeat(10_000), `"${'['.repeat(10_000)}`, '"\\']) {
      expect(() => parseJson(text)).toThrow(SealaneError);
    }
  });

  it('does not count brackets inside strings, and counts them after, whatever the strings end in', () => {
    for (const start of ['', '"', '\\"', '\\\\"', 'a"b']) {
      const text = start + '['.repeat(1000);
      expect(parseJson(JSON.stringify({ text }))).toEqual({ text });
    }
    for (const text of ['\\', '"', '\\"', '"\\']) {
      expect(() => parseJson(`[${JSON.stringify(text)},${nested(MAX_DEPTH)}]`)).toThrow('deeper than 64');
    }
  });

  it('says that an empty body is empty, and ignores a byte order mark', () => {
    expect(() => parseJson('  ')).toThrow('empty');
    expect(parseJson('\ufeff{"a":1}')).toEqual({ a: 1 });
  });

  it('throws nothing but known errors on any text', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        try {
          parseJson(text);
        } catch (error) {
          expect(error).toBeInstanceOf(SealaneError);
        }
      }),
    );
  });
});
