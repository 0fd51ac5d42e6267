import { type Event, type EventKind, isTerminal } from '#domain';

import { foldedUpTo, seqsOf, snapshotOf } from '../store-contract/contract-events.ts';
import type { Crowd } from './crowd.ts';

/** What must hold whenever nobody is writing, whatever came before and in whichever order. */
export const expectOrder = async (crowd: Crowd): Promise<void> => {
  const { corner, expect, tasks } = crowd;
  const logs = new Map<string, readonly Event[]>();
  for (const { id } of tasks) {
    const [found, log] = await Promise.all([corner.tasks.find('all', id), corner.log(id)]);
    if (!found) {
      // A task that was removed while it was open leaves its log for a while, with its end.
      expectOneEnd(crowd, log);
      if (log.length > 0) expect(log.at(-1)?.event.kind).toBe('turn-ended');
      continue;
    }
    logs.set(id, log);
    expect(seqsOf(log)).toEqual(log.map((_, index) => index + 1));
    expect(found.seq).toBe(log.length);
    expect(snapshotOf(found)).toEqual(foldedUpTo(log, log.length));
    expectOneEnd(crowd, log);
    expectAttempts(crowd, log);
  }
  await expectOneRun(crowd);
  for (const lane of crowd.lanes) {
    const line = tasks.filter((task) => task.lane === lane && logs.has(task.id));
    expectNobodyOvertaken(crowd, line, logs);
  }
};

/** The first terminal event is the last event, and a cancel that was asked for is answered. */
const expectOneEnd = ({ expect }: Crowd, log: readonly Event[]): void => {
  const ends = log.filter(({ event }) => event.kind !== 'artifact-added' && isTerminal(event.state));
  const [end] = ends;
  expect(ends).toEqual(end ? log.slice(-1) : []);
  const isAsked = log.some(({ event }) => event.kind === 'cancel-requested');
  if (end?.event.kind === 'turn-ended' && isAsked && !end.event.forced) expect(end.event.state).toBe('canceled');
};

/** Attempts count 1, 2, 3, … within a turn: no turn was ever started by two. */
const expectAttempts = ({ expect }: Crowd, log: readonly Event[]): void => {
  let next = 1;
  for (const { event } of log) {
    if (event.kind === 'message-received' && event.state === 'submitted') next = 1;
    if (event.kind !== 'run-started') continue;
    expect(event.attempt).toBe(next);
    next += 1;
  }
};

/** Of all who were ever given a run in a lane, at most one may still write, and the lane knows which. */
const expectOneRun = async ({ corner, expect, lanes, runs }: Crowd): Promise<void> => {
  const views = await corner.storage.lanes.list({ agent: corner.agent, limit: 9 });
  for (const lane of lanes) {
    const given = runs.filter(({ session }) => session === lane);
    const answers = await Promise.all(given.map(({ token }) => corner.tasks.remember(token, { looked: true })));
    const holders = given.filter((_, index) => answers[index]?.ok).map(({ token }) => token.taskId);
    const running = views.find(({ key }) => key === lane)?.running ?? null;
    expect(holders).toEqual(running === null ? [] : [running]);
  }
};

/** No task still waits for its first run while one of a later wave has had one. */
const expectNobodyOvertaken = (
  { expect }: Crowd,
  line: Crowd['tasks'],
  logs: ReadonlyMap<string, readonly Event[]>,
): void => {
  const hasHad = (id: string, kind: EventKind): boolean =>
    logs.get(id)?.some(({ event }) => event.kind === kind) ?? false;
  const started = line.filter(({ id }) => hasHad(id, 'run-started'));
  const waiting = line.filter(({ id }) => !hasHad(id, 'run-started') && !hasHad(id, 'turn-ended'));
  expect(waiting.filter(({ wave }) => started.some((other) => other.wave > wave))).toEqual([]);
};
