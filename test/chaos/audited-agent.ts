import { setTimeout as delay } from 'node:timers/promises';

import { type AgentConnector, type RunIo, sessionKeyOf, type Turn, type TurnEnd } from '#agents';
import { textOf } from '#domain';

import type { AuditLine, AuditWriter } from './audit-log.ts';

/**
 * An agent that keeps books about itself. Its messages are orders:
 *
 * - `work MS CHUNKS`: works that long and answers in so many chunks
 * - `stubborn MS CHUNKS`: the same, deaf to being told to stop
 * - `ask`: asks back; the answer is the next order
 * - `fail`: fails
 * - `huge BYTES`: answers with one chunk of that size
 *
 * Chunks and ends carry the number of their attempt, so the log itself shows whether a lost run has written.
 */
export const createAuditedAgent = (
  audit: AuditWriter,
  { splitsLanes = false }: { readonly splitsLanes?: boolean } = {},
): AgentConnector => ({
  kind: 'audited',
  // The saboteur gives every task a session of its own, and runs of one conversation meet.
  session: (scope) => (splitsLanes ? `${sessionKeyOf(scope)}/${Math.random()}` : sessionKeyOf(scope)),
  run: async (turn, io) => {
    const run = { lane: turn.contextId, task: turn.taskId, turn: turn.number, attempt: io.attempt };
    let how = 'threw';
    audit.write({ what: 'start', ...run });
    try {
      await io.remember({ pid: process.pid });
      const end = await obey(turn, io, () => audit.write({ what: 'step', ...run }));
      how = end.state === 'input-required' ? 'asked' : end.state;
      return end;
    } catch (error) {
      if (!io.signal.aborted) throw error;
      how = `aborted: ${String(io.signal.reason)}`;
      return { state: 'canceled' };
    } finally {
      audit.write({ what: 'end', ...run, how } satisfies Omit<AuditLine, 'at' | 'pid'>);
    }
  },
  // It lives in the process of its service: whoever asks has outlived that process, or its lease.
  stop: async () => 'dead',
  close: async () => undefined,
});

const obey = async (turn: Turn, io: RunIo, step: () => void): Promise<TurnEnd> => {
  const [order = '', ...numbers] = textOf(turn.message.parts).split(' ');
  const [first = 0, second = 1] = numbers.map(Number);
  const metadata = { attempt: io.attempt };
  const say = (chunk: number, chunks: number, text: string): Promise<void> =>
    io.emit({
      kind: 'artifact',
      artifact: { artifactId: `answer-${turn.number}`, parts: [{ text }] },
      append: chunk > 1,
      lastChunk: chunk === chunks,
    });
  switch (order) {
    case 'work':
    case 'stubborn':
      for (let chunk = 1; chunk <= second; chunk += 1) {
        await delay(first / second, undefined, order === 'work' ? { signal: io.signal } : {});
        step();
        await say(chunk, second, chunkText(io.attempt, chunk));
      }
      return { state: 'completed', metadata: { ...metadata, chunks: second } };
    case 'huge':
      await say(1, 1, chunkText(io.attempt, 1).padEnd(first, 'x'));
      return { state: 'completed', metadata: { ...metadata, chunks: 1 } };
    case 'ask':
      return { state: 'input-required', message: io.say('What next?'), metadata };
    case 'fail':
      return { state: 'failed', message: io.say('As ordered.'), reason: 'ordered', metadata };
    default:
      return { state: 'rejected', message: io.say(`I do not know how to ${order}.`), metadata };
  }
};

/** `2.5;` is the fifth chunk of the second attempt. */
const chunkText = (attempt: number, chunk: number): string => `${attempt}.${chunk};`;

export const readChunk = (text: string): { readonly attempt: number; readonly chunk: number } | undefined => {
  const [, attempt, chunk] = /^(\d+)\.(\d+);x*$/.exec(text) ?? [];
  return attempt === undefined ? undefined : { attempt: Number(attempt), chunk: Number(chunk) };
};
