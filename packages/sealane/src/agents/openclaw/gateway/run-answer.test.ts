import { describe, expect, it } from 'vitest';

import { answerOfFinal, answerOfWait } from './run-answer.ts';

const agentMeta = { provider: 'fake', model: 'echo', usage: { input: 1, output: 2 } };

describe('the end of a run', () => {
  it('is an answer with its model and usage', () => {
    const payloads = [{ text: 'Here.', mediaUrl: 'https://x.example/a.png', mediaUrls: ['https://x.example/a.png'] }];
    expect(answerOfFinal({ status: 'ok', result: { payloads, meta: { durationMs: 5, agentMeta } } })).toEqual({
      outcome: 'ok',
      text: 'Here.',
      media: ['https://x.example/a.png'],
      metadata: { openclaw: { ...agentMeta, durationMs: 5 } },
    });
  });

  it.each([
    ['says so', { status: 'error', summary: 'no model' }, 'no model'],
    [
      'looks like a success but did not finish',
      {
        status: 'ok',
        result: { payloads: [{ text: 'cut off', isError: true }], meta: { error: { kind: 'incomplete_turn' } } },
      },
      'cut off',
    ],
    [
      'has nothing but errors to say',
      { status: 'ok', result: { payloads: [{ text: 'HTTP 500', isError: true }] } },
      'HTTP 500',
    ],
  ])('is a failure when it %s', (_, final, error) => {
    expect(answerOfFinal(final)).toMatchObject({ outcome: 'error', error });
  });

  it('is an abort when somebody stopped it, and no end while it goes on', () => {
    expect(answerOfFinal({ status: 'timeout', summary: 'aborted', stopReason: 'rpc' })).toMatchObject({
      outcome: 'aborted',
    });
    expect(answerOfWait({ status: 'error', stopReason: 'rpc', endedAt: 1 })).toMatchObject({ outcome: 'aborted' });
    expect(answerOfFinal({ status: 'accepted' })).toBeUndefined();
    expect(answerOfWait({ status: 'timeout' })).toBeUndefined();
    expect(answerOfWait({ status: 'pending' })).toBeUndefined();
  });

  it('is the time limit of OpenClaw when the wait names an end', () => {
    expect(answerOfWait({ status: 'timeout', endedAt: 1 })).toMatchObject({ outcome: 'timeout' });
  });

  it('has its files apart from its text', () => {
    expect(
      answerOfWait({ status: 'ok', terminalReply: { text: 'Here.\nMEDIA:https://x.example/a.png' } }),
    ).toMatchObject({
      text: 'Here.',
      media: ['https://x.example/a.png'],
    });
  });
});
