import { describe, expect, it } from 'vitest';

import type { NewEvent } from '#domain';

import { contentOf } from './content.ts';
import { inWords, isoOf } from './event-log.ts';
import type { TaskRow } from './tasks.sql.ts';

const row: TaskRow = {
  k: 1,
  id: 'task',
  context_id: 'context',
  status_state: 'working',
  status_message: null,
  status_timestamp: isoOf(2000),
  created_at: isoOf(1000),
  updated_at: isoOf(2000),
  artifacts: '[]',
  history: '[]',
  metadata: '{}',
  owner: 'o',
  tenant: '',
  agent: 'a',
  dialect: '1.0',
  session: 's',
  direct: 0,
  turns: 1,
  folded: 0,
  open: 1,
};

const tailOf = (events: readonly NewEvent[]) =>
  inWords(events).texts.map((data, index) => ({ seq: index + 1, at: (index + 1) * 1000, data }));

describe('the content of a task', () => {
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hello' }] } as const;
  const begun: readonly NewEvent[] = [
    { kind: 'task-admitted', state: 'submitted', message },
    { kind: 'run-started', state: 'working', attempt: 1 },
  ];

  it.each([
    ['plain', { kind: 'turn-ended', state: 'completed' }],
    ['explained', { kind: 'turn-ended', state: 'completed', metadata: { why: 'because' } }],
  ] as const)('is that of its events, also when its row was read before its %s end', (_how, end) => {
    expect(contentOf(row, tailOf([...begun, end]))).toMatchObject({
      status_state: 'completed',
      status_timestamp: isoOf(3000),
      history: JSON.stringify([message]),
      folded: 3,
    });
  });

  it('is that of its row when nothing came after it', () => {
    expect(contentOf({ ...row, folded: 2 }, [])).toMatchObject({ status_state: 'working', folded: 2 });
  });
});
