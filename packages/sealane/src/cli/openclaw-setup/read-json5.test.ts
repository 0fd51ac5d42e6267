import { expect, test } from 'vitest';

import { readJson5 } from './read-json5.ts';

test('what people write by hand is read', () => {
  const text = `// the gateway
  {
    gateway: { port: 18789, /* old: 1, } */ auth: { 'token': 'it\\'s "\\u0061" // no comment' }, },
    "$include": ["./a.json5", './b.json5',], list: [], nothing: null, yes: true, no: -.5, hex: 0x10, half: +5.,
  }
  // the end`;
  expect(readJson5(text)).toEqual({
    gateway: { port: 18_789, auth: { token: 'it\'s "a" // no comment' } },
    $include: ['./a.json5', './b.json5'],
    list: [],
    nothing: null,
    yes: true,
    no: -0.5,
    hex: 16,
    half: 5,
  });
});

test('JSON is read as JSON.parse reads it', () => {
  const value = { a: [1, -2.5e3, 'x\n"\\/\u2028é\u0001', { b: {} }, [], true, null], __proto__x: 'toString' };
  expect(readJson5(JSON.stringify(value, undefined, '\t'))).toEqual(value);
  expect(Object.keys(readJson5('{"__proto__": {"a": 1}}') as object)).toEqual(['__proto__']);
});

test.each([
  ['{ a: 1', 'line 1: "," or "}" is missing'],
  ['{\n "token": "secret\n}', 'line 2: a value is missing'],
  ['{\n a "secret" }', 'line 2: ":" is missing'],
  ['{ a: secret }', 'line 1: this is no value'],
  ['{ , }', 'line 1: the name of a setting is missing'],
  ['{} {}', 'line 1: there is more than one value'],
  ['', 'line 1: a value is missing'],
])('%j is refused with its line, and nothing of it is told', (text, message) => {
  expect(() => readJson5(text)).toThrow(new SyntaxError(message));
});
