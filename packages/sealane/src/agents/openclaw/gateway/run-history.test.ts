import { expect, it } from 'vitest';

import { historyShape, turnInHistory } from './run-history.ts';

it('a turn is found in the transcript, whatever else its rows have', () => {
  const odd = { provenance: null, stopReason: null, provider: 7, usage: { input: null }, __openclaw: 'x' };
  const history = historyShape.parse({
    messages: [
      null,
      {
        role: 'user',
        idempotencyKey: 'run-1:user',
        content: [{ type: 'text', text: 'hello' }, { type: 'image' }],
        ...odd,
      },
      { role: 'assistant', content: [{ type: 'text', text: 'hi' }, { text: null }], ...odd },
    ],
  });
  const { isKnown, pieces, answer } = turnInHistory(history, 'run-1');
  expect(isKnown).toBe(true);
  expect(pieces.map(({ text }) => text)).toEqual(['hi']);
  expect(answer).toMatchObject({ outcome: 'ok', text: 'hi' });
});
