import { pino } from 'pino';
import { expect, it } from 'vitest';

import type { Run } from '#store';

import { combineObservers, createLogObserver } from './observers.ts';

it('what an agent gives as its reason is told when it is a word, and else not, since it could be what somebody said', () => {
  const told: unknown[] = [];
  const observer = combineObservers([
    {
      taskEnded: ({ reason }) => told.push(reason),
      runStarted: () => ({ ended: (_state, reason) => told.push(reason) }),
    },
  ]);
  const end = (reason?: string): readonly unknown[] => {
    told.length = 0;
    const facts = { agent: 'a', taskId: 't', state: 'failed' } as const;
    observer.taskEnded?.({ ...facts, ...(reason !== undefined && { reason }) });
    observer.runStarted?.({} as Run, 'own')?.ended('failed', reason);
    return [...told];
  };
  expect(end('no-credit')).toEqual(['no-credit', 'no-credit']);
  expect(end()).toEqual([undefined, undefined]);
  for (const words of ['My card is 4111 1111', 'a"} 1\nb', 'x'.repeat(41), ''])
    expect(end(words)).toEqual(['other', 'other']);
});

it('a run is in the log by the name that its own calls carry, so that two runs of a task can be told apart', () => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: 'debug' }, { write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) });
  const token = { taskId: 'task', task: 1, lane: 1, epoch: 1 };
  const run = { token, agent: 'a', turn: 2, attempt: 3 } as Run;
  createLogObserver(log).runStarted?.(run, 'own')?.ended('completed');
  expect(lines.map(({ msg, runId }) => [msg, runId])).toEqual([
    ['run started', 'task.2.3'],
    ['run ended', 'task.2.3'],
  ]);
});
