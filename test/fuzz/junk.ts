import type { FuzzRandom } from './fuzz-random.ts';
import { type JsonNode, scalar } from './json-node.ts';

/** Names that mean something to JavaScript, to another dialect, or to nobody. */
export const STRANGE_NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'then',
  'toJSON',
  'length',
  '',
  ' ',
  '0',
  '-1',
  '$ref',
  '@type',
  'Id',
  'ID',
  'idx\u0000',
  '\ud800',
  'ключ',
  '🦭',
  'a.b',
  'a[0]',
] as const;

const STRANGE_TEXTS = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\ud800',
  'x\udfff',
  '\ud83e\uddad',
  '\u202e\u200b\ufeff',
  '\u2028\u2029',
  'é'.normalize('NFD'),
  '\r\n\r\n',
  'a\nb',
  '\t',
  '\u007f\u0085',
  'null',
  'undefined',
  'NaN',
  'true',
  '0',
  '-1',
  '[object Object]',
  '{}',
  '__proto__',
  'constructor',
  '%s%n%x',
  '${7*7}',
  '{{7*7}}',
  "' OR 1=1 --",
  '"; DROP TABLE tasks; --',
  '../../etc/passwd',
  '..%2f..%2fetc%2fpasswd',
  '..\\..\\windows',
  'file:///etc/passwd',
  'javascript:alert(1)',
  'data:text/plain,x',
  'http://[::1',
  '////',
  '*',
  'TASK_STATE_WORKING',
  'ROLE_AGENT',
  '2026-02-30T25:61:61Z',
  '9999-12-31T23:59:59.999999999Z',
  '0000-00-00T00:00:00Z',
  'AAAA====',
  '🦭'.repeat(40),
] as const;

const STRANGE_NUMBERS = [
  '0',
  '-0',
  '-1',
  '1',
  '1.5',
  '-1.5e-7',
  '2147483647',
  '2147483648',
  '-2147483649',
  '4294967296',
  '9007199254740991',
  '9007199254740993',
  '18446744073709551616',
  '1e21',
  '1e308',
  '1e999',
  '-1e999',
  '1e-999',
  '0.1e1',
  '1E+2',
  '123456789012345678901234567890',
] as const;

/** Lengths at which somebody's limit might be; the last ones are near the largest body. */
const LENGTHS = [127, 128, 129, 255, 256, 257, 1023, 1025, 2049, 4097, 8193, 65_537];
const HUGE_LENGTHS = [262_144, 1_000_000, 1_047_000, 1_048_300, 1_048_577];

const LETTERS = ['x', 'é', '🦭', '\\', '"', '\n', '[', '{'];

export const strangeName = (random: FuzzRandom): string => random.pick(STRANGE_NAMES);
export const strangeText = (random: FuzzRandom): string => random.pick(STRANGE_TEXTS);

export const longText = (random: FuzzRandom): string =>
  random.pick(LETTERS).repeat(random.pick(random.chance(0.02) ? HUGE_LENGTHS : LENGTHS));

export const strangeNumber = (random: FuzzRandom): string => random.pick(STRANGE_NUMBERS);

/** Few enough not to spend the run on brackets, deep enough to pass every limit. */
const depthOf = (random: FuzzRandom): number =>
  random.weigh([
    [30, random.between(2, 20)],
    [40, random.between(55, 70)],
    [20, random.between(100, 1000)],
    [1, 100_000],
  ]);

/** A value inside many others. Beyond what a stack holds it is written as text. */
export const nest = (random: FuzzRandom, node: JsonNode, write: (node: JsonNode) => string): JsonNode => {
  const depth = depthOf(random);
  const [open, close] = random.pick([
    ['[', ']'],
    ['{"a":', '}'],
    ['[{"__proto__":', '}]'],
  ] as const);
  return scalar(`${open.repeat(depth)}${write(node)}${random.chance(0.9) ? close.repeat(depth) : ''}`);
};

/** Any JSON that is not what was asked for. */
export const strangeNode = (random: FuzzRandom): JsonNode =>
  random.weigh<() => JsonNode>([
    [4, () => scalar('null')],
    [2, () => scalar(random.pick(['true', 'false']))],
    [5, () => scalar(strangeNumber(random))],
    [8, () => scalar(JSON.stringify(strangeText(random)))],
    [1, () => scalar(JSON.stringify(longText(random)))],
    [2, () => ({ kind: 'list', items: [] })],
    [2, () => ({ kind: 'members', members: [] })],
    [1, () => ({ kind: 'list', items: [scalar('null'), { kind: 'list', items: [] }] })],
    [2, () => ({ kind: 'members', members: [{ name: strangeName(random), value: scalar(strangeNumber(random)) }] })],
  ])();
