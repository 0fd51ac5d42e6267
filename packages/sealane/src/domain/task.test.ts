import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { Event, NewEvent } from './event.ts';
import type { Message } from './message.ts';
import { fold } from './task.ts';

const at = '2026-01-01T00:00:00.000Z';
const message = (messageId: string, role: Message['role'] = 'ROLE_USER'): Message => ({
  messageId,
  role,
  parts: [{ text: messageId }],
});
const admitted: NewEvent = { kind: 'task-admitted', state: 'submitted', message: message('m1'), metadata: { a: 1 } };
const chunk = (text: string, append = true): NewEvent => ({
  kind: 'artifact-added',
  artifact: { artifactId: 'answer', parts: [{ text }] },
  append,
});
const numbered = (events: readonly NewEvent[], from = 1): Event[] =>
  events.map((event, index) => ({ seq: from + index, at, event }));

const anyEvent: fc.Arbitrary<NewEvent> = fc.oneof(
  fc.constant<NewEvent>({ kind: 'run-started', state: 'working', attempt: 1 }),
  fc
    .string()
    .map((text): NewEvent => ({ kind: 'status-reported', state: 'working', message: message(text, 'ROLE_AGENT') })),
  fc.string().map((text): NewEvent => ({ kind: 'message-received', state: 'submitted', message: message(text) })),
  fc.constant<NewEvent>({ kind: 'cancel-requested', state: 'working', by: 'me' }),
  fc
    .record({ id: fc.constantFrom('a', 'b'), text: fc.string(), append: fc.boolean(), isData: fc.boolean() })
    .map(({ id, text, append, isData }): NewEvent => ({
      kind: 'artifact-added',
      artifact: { artifactId: id, parts: [isData ? { data: text } : { text }] },
      append,
    })),
  fc.string().map((text): NewEvent => ({
    kind: 'turn-ended',
    state: 'input-required',
    message: message(text, 'ROLE_AGENT'),
    reason: 'agent',
  })),
);

describe('folding', () => {
  it('in two steps gives what folding at once gives, wherever the cut is', () => {
    fc.assert(
      fc.property(fc.array(anyEvent), fc.nat(), (events, where) => {
        const log = numbered([admitted, ...events]);
        const cut = 1 + (where % log.length);
        expect(fold(fold(undefined, log.slice(0, cut)), log.slice(cut))).toEqual(fold(undefined, log));
      }),
    );
  });

  it('does not touch the snapshot it starts from', () => {
    const before = fold(undefined, numbered([admitted, chunk('a', false), chunk('b')]));
    const copy = structuredClone(before);
    fold(before, numbered([chunk('c'), chunk('d')], 4));
    expect(before).toEqual(copy);
  });

  it('joins chunks of plain text into one part, in order', () => {
    const log = numbered([
      admitted,
      chunk('a', false),
      ...Array.from({ length: 20_000 }, (_, n) => chunk(`${n % 10}`)),
    ]);
    const { artifacts } = fold(undefined, log);
    expect(artifacts).toHaveLength(1);
    expect(artifacts[0]?.parts).toEqual([{ text: `a${'0123456789'.repeat(2000)}` }]);
  });

  it('a chunk without append replaces the artifact', () => {
    expect(
      fold(undefined, numbered([admitted, chunk('lost', false), chunk('new', false), chunk('er')])).artifacts,
    ).toEqual([{ artifactId: 'answer', parts: [{ text: 'newer' }] }]);
  });

  it('takes as long for the thousandth chunk of data as for the first', () => {
    const data = (n: number): NewEvent => ({
      kind: 'artifact-added',
      artifact: { artifactId: 'a', parts: [{ data: n }] },
      append: n > 0,
    });
    const timeOf = (count: number): number => {
      const log = numbered([admitted, ...Array.from({ length: count }, (_, n) => data(n))]);
      const started = process.threadCpuUsage();
      fold(undefined, log);
      return process.threadCpuUsage(started).user / 1000;
    };
    // The best of several: what else the machine does only adds.
    const bestOf = (count: number): number => Math.min(...Array.from({ length: 5 }, () => timeOf(count)));
    const small = Math.max(1, bestOf(5000));
    expect(bestOf(50_000) / small).toBeLessThan(40);
  });

  it('keeps the conversation: what the caller said, what was asked, what was answered', () => {
    const { history, statusMessage, metadata, state } = fold(
      undefined,
      numbered([
        admitted,
        { kind: 'run-started', state: 'working', attempt: 1 },
        { kind: 'status-reported', state: 'working', message: message('thinking', 'ROLE_AGENT') },
        { kind: 'turn-ended', state: 'input-required', message: message('which?', 'ROLE_AGENT') },
        { kind: 'message-received', state: 'submitted', message: message('that') },
        { kind: 'turn-ended', state: 'failed', message: message('no', 'ROLE_AGENT'), reason: 'timeout', forced: true },
      ]),
    );
    expect(history.map(({ messageId }) => messageId)).toEqual(['m1', 'which?', 'that', 'no']);
    expect(statusMessage?.messageId).toBe('no');
    expect(metadata).toEqual({ a: 1, reason: 'timeout', forced: true });
    expect(state).toBe('failed');
  });
});
