import type { Draw } from './draw.ts';
import type { FuzzRandom } from './fuzz-random.ts';

export type HeaderList = (readonly [name: string, value: string])[];

const TASK_LOG = 'https://sealane.dev/extensions/task-log/v1';

/** Anything that a header line can carry: everything but a line break. */
const STRANGE_VALUES = [
  '',
  ' ',
  '0',
  '-1',
  '1e999',
  '99999999999999999999',
  'null',
  '[object Object]',
  '{"a":1}',
  ',,,,',
  ';',
  '"',
  'é\u00ff\u0080',
  '\t',
  'a\u0000b',
  '\u0001\u001b[31m',
  "' OR 1=1 --",
  '../../etc/passwd',
  '__proto__',
  'x'.repeat(300),
  'x,'.repeat(3000),
];

const ORDINARY: Readonly<Record<string, readonly string[]>> = {
  'A2A-Version': ['1.0', '1.0.3', '0.3', '0.3.0', '0.2', '0.1', '1', '2.0', ' 1.0 '],
  'A2A-Extensions': [TASK_LOG, `${TASK_LOG}, https://example.com/x`, 'https://example.com/x'],
  'X-A2A-Extensions': [TASK_LOG],
  'Last-Event-ID': ['0', '1', '2', '999999999999999'],
  'Idempotency-Key': ['key-1', 'key-2', 'key-3', 'a key with blanks'],
  traceparent: ['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', '00-0-0-00', 'ff-'],
  tracestate: ['a=b', '=,='],
  baggage: ['a=b'],
  'Sealane-Ancestors': ['a-run.1', 'a,b,c'],
  Accept: ['application/json', 'text/event-stream', 'text/html', '*/*'],
  'Accept-Encoding': ['gzip, br', 'identity;q=0'],
  'User-Agent': ['fuzz'],
  'X-Forwarded-For': ['10.0.0.1'],
  'X-Forwarded-Proto': ['https', 'javascript'],
  Origin: ['http://127.0.0.1:1', 'null', 'https://evil.example'],
  Cookie: ['a=b'],
  Expect: ['100-continue'],
  'If-None-Match': ['*', '"x"', 'W/"y"'],
};

const ODD = Object.entries(ORDINARY);

/** Headers beside the usual ones: mostly none, sometimes right, sometimes wrong, sometimes twice. */
export const extraHeaders = (random: FuzzRandom): HeaderList => {
  const headers: HeaderList = [];
  while (random.chance(0.22)) {
    const [name, values] = random.pick(ODD);
    const value = random.chance(0.6) ? random.pick(values) : random.pick(STRANGE_VALUES);
    headers.push([random.chance(0.9) ? name : name.toLowerCase(), value]);
    if (random.chance(0.1)) headers.push([name, random.pick(values)]);
  }
  return headers;
};

const KEYS = ['Bearer', 'Bearer ', 'Basic YTpi', 'bearer sl_x', `Bearer ${'x'.repeat(5000)}`, 'Bearer \u00ff'];
const TYPES = [
  'application/a2a+json',
  'application/json; charset=utf-8',
  'application/json; charset=utf-16',
  'APPLICATION/JSON',
  'application/json;;;',
  'text/plain',
  'multipart/form-data',
  'x',
  '',
];

/** Who calls, with what. */
export const usualHeaders = ({ random }: Draw, key: string, hasBody: boolean): HeaderList => {
  const headers: HeaderList = [];
  const keyed = random.weigh([
    [97, `Bearer ${key}`],
    [1, random.pick(KEYS)],
    [1, undefined],
  ]);
  if (keyed !== undefined) headers.push(['Authorization', keyed]);
  if (hasBody) headers.push(['Content-Type', random.chance(0.96) ? 'application/json' : random.pick(TYPES)]);
  return headers;
};
