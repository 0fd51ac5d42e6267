import { array, assert, asyncProperty, constantFrom, integer } from 'fast-check';
import { expect, test } from 'vitest';

import { parseSse } from './sse-parser.ts';

const parse = async (...chunks: readonly (string | Uint8Array)[]) => {
  const events: unknown[] = [];
  const bytes = async function* () {
    for (const chunk of chunks) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
  };
  for await (const event of parseSse(bytes())) events.push(event);
  return events;
};

test('events, ids that stay, comments, several data lines, all line ends', async () => {
  expect(
    await parse(
      'id: 1\ndata: a\n\n: beat\n\ndata:b\ndata: c\r\n\r\nevent: x\nid:2\rdata: d\r\rignored: y\n\ndata: cut',
    ),
  ).toEqual([{ id: '1', data: 'a' }, undefined, { id: '1', data: 'b\nc' }, { id: '2', data: 'd' }]);
});

test('however the bytes are cut, the events are the same', async () => {
  const whole = Buffer.from('id: 7\r\ndata: {"text":"grüße 🌊"}\r\n\r\n: beat\r\n\r\ndata: x\r\n\r\n');
  const expected = await parse(whole);
  expect(expected).toEqual([{ id: '7', data: '{"text":"grüße 🌊"}' }, undefined, { id: '7', data: 'x' }]);
  await assert(
    asyncProperty(
      array(integer({ min: 0, max: whole.length }), { maxLength: 12 }),
      constantFrom(true, false),
      async (cuts, isBytewise) => {
        const places = isBytewise ? whole.keys().toArray() : [...cuts].toSorted((a, b) => a - b);
        const chunks = [0, ...places].map((start, index) => whole.subarray(start, places[index] ?? whole.length));
        expect(await parse(...chunks)).toEqual(expected);
      },
    ),
  );
});
