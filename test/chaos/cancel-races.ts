import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';

import { type AgentConnector, sessionKeyOf, type TurnEnd } from '#agents';
import { type Event, isTerminal, SealaneError, textOf } from '#domain';
import type { Caller } from '#engine';
import type { Storage } from '#store';

import { openService } from '../support/service.ts';
import type { SeededRandom } from './seeded-random.ts';

/** How a run or a cancel spends the time until it acts: nothing, microtasks, turns of the event loop, or timers. */
const dawdle = async (how: string): Promise<void> => {
  const [kind = '', count = '0'] = how.split(':');
  if (kind === 'ms') await delay(Number(count));
  else if (kind === 'turns') for (let n = 0; n < Number(count); n += 1) await nextTurn();
  else for (let n = 0; n < Number(count); n += 1) await Promise.resolve();
};

const randomDawdle = (random: SeededRandom): string =>
  random.pick([`ticks:${random.between(0, 40)}`, `turns:${random.between(0, 8)}`, `ms:${random.between(0, 14)}`]);

const ENDS: Readonly<Record<string, () => TurnEnd>> = {
  completes: () => ({ state: 'completed' }),
  fails: () => ({ state: 'failed', reason: 'ordered' }),
  asks: () => ({ state: 'input-required' }),
  throws: () => {
    throw new Error('As ordered.');
  },
};

/** Ends when it was told to; a deaf one goes on for a while when it is told to stop. */
const racer: AgentConnector = {
  kind: 'racer',
  session: sessionKeyOf,
  run: async (turn, { signal }) => {
    const [end = '', how = '', hearing] = textOf(turn.message.parts).split(' ');
    await Promise.race(hearing === 'deaf' ? [dawdle(how)] : [dawdle(how), aborted(signal)]);
    if (signal.aborted && hearing !== 'deaf') return { state: 'canceled' };
    return ENDS[end]?.() ?? { state: 'rejected' };
  },
  stop: async () => 'dead',
  close: async () => undefined,
};

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

export interface RaceTally {
  readonly races: number;
  readonly canceled: number;
  readonly tooLate: number;
  readonly violations: readonly string[];
}

const AT_ONCE = 250;

/**
 * `races` tasks on a store in memory, each canceled at about the moment at which it ends by itself, by its timeout, or
 * starts anew after an answer. Every task must end once, and as its canceler was told.
 */
export const raceCancels = async (
  races: number,
  random: SeededRandom,
  store: Storage | 'memory' = 'memory',
): Promise<RaceTally> => {
  await using service = await openService({
    store,
    agents: {
      racer: { connector: racer, default: true, concurrency: AT_ONCE },
      hasty: { connector: racer, concurrency: AT_ONCE, taskTimeoutMs: 4 },
    },
    settings: { cancelGraceMs: 3, quarantineMs: 200 },
  });
  const { tasks, storage } = service.sealane;
  const { caller } = service;
  const violations: string[] = [];
  let [canceled, tooLate] = [0, 0];
  let started = 0;

  const send = async (text: string, to: { readonly agent?: string; readonly taskId?: string }): Promise<string> => {
    started += 1;
    const message = {
      messageId: `m-${started}`,
      role: 'ROLE_USER' as const,
      parts: [{ text }],
      ...(to.taskId !== undefined && { taskId: to.taskId }),
    };
    const request = { message, dialect: '1.0', ...(to.agent !== undefined && { agent: to.agent }) };
    const outcome = await tasks.send(caller, request, { wait: false, signal: new AbortController().signal });
    if (outcome.kind !== 'task') throw new Error('A message came back.');
    return outcome.task.id;
  };

  const race = async (): Promise<void> => {
    const agent = random.chance(0.25) ? 'hasty' : 'racer';
    const hearing = random.chance(0.3) ? 'deaf' : 'hears';
    const order = `${random.pick(Object.keys(ENDS))} ${randomDawdle(random)} ${hearing}`;
    const cancelAfter = randomDawdle(random);
    let id: string;
    let answering: Promise<unknown> | undefined;
    if (random.chance(0.2)) {
      id = await send('asks ticks:0 hears', { agent });
      while ((await tasks.get(caller, id)).state !== 'input-required') await nextTurn();
      // Too late for an answer is no surprise: the cancel may have been first.
      answering = send(order, { taskId: id }).catch(() => undefined);
    } else id = await send(order, { agent });
    await dawdle(cancelAfter);
    const answer = await cancel(tasks, caller, id);
    await answering;
    if (answer === 'task-not-cancelable') tooLate += 1;
    else canceled += 1;
    violations.push(...(await lookAt(id, order, answer)));
  };

  const lookAt = async (id: string, order: string, answer: string): Promise<readonly string[]> => {
    const events = await storage.tasks.read('all', id, 0, 1000);
    const task = await storage.tasks.find('all', id);
    return judge(events, task?.state, answer).map(
      (problem) => `Task ${id} ("${order}", cancel answered ${answer}): ${problem}`,
    );
  };

  for (let done = 0; done < races; done += AT_ONCE) {
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, races - done) }, race));
  }
  return { races, canceled, tooLate, violations };
};

const cancel = async (
  tasks: Awaited<ReturnType<typeof openService>>['sealane']['tasks'],
  caller: Caller,
  id: string,
): Promise<string> => {
  try {
    return (await tasks.cancel(caller, id)).state;
  } catch (error) {
    if (error instanceof SealaneError) return error.code;
    throw error;
  }
};

const judge = (events: readonly Event[], state: string | undefined, answer: string): readonly string[] => {
  const ends = events.filter(({ event }) => event.kind !== 'artifact-added' && isTerminal(event.state));
  const told = `Its log: ${events.map(({ event }) => `${event.kind}${'state' in event ? `=${event.state}` : ''}`).join(', ')}.`;
  if (events.some(({ seq }, index) => seq !== index + 1)) return [`its log has a gap. ${told}`];
  if (ends.length !== 1 || ends[0] !== events.at(-1)) return [`it did not end exactly once. ${told}`];
  if (answer === 'task-not-cancelable') {
    return state === 'canceled' ? [`its canceler was told that it was too late, and it is canceled. ${told}`] : [];
  }
  if (answer !== 'canceled')
    return [`its canceler was told neither that it is canceled nor that it is too late. ${told}`];
  return state === 'canceled' ? [] : [`its cancel was accepted, and it is ${state}. ${told}`];
};
