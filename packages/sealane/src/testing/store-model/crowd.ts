import type * as FastCheck from 'fast-check';

import type { Admitted, Result, Run } from '#store';

import type { Corner } from '../store-contract/contract-corner.ts';
import {
  accepted,
  chunk,
  foldedUpTo,
  question,
  snapshotOf,
  timedOut,
  turnEnded,
} from '../store-contract/contract-events.ts';
import type { Expect } from '../test-runner.ts';
import type { Fc } from './commands.ts';

/** Many callers at once. They know what the store has told them, and nothing of each other. */
export interface Crowd {
  readonly corner: Corner;
  readonly expect: Expect;
  readonly lanes: readonly string[];
  readonly tasks: { readonly id: string; readonly lane: string; readonly wave: number }[];
  readonly runs: Run[];
  readonly instances: string[];
  /** How many waves have been. */
  wave: number;
}

export const createCrowd = async (corner: Corner, expect: Expect): Promise<Crowd> => ({
  corner,
  expect,
  lanes: ['p', 'q', 'r'].map(corner.name),
  tasks: [],
  runs: [],
  instances: [await corner.instance(), await corner.instance()],
  wave: 0,
});

interface Call {
  readonly kind: keyof typeof CALLS;
  /** Numbers that pick from whatever there is. */
  readonly a: number;
  readonly b: number;
}

const some = <T>(list: readonly T[], index: number): T | undefined => list[index % Math.max(1, list.length)];

/** Keeps what an admission told: the task, and the run if it started. */
const keep = (crowd: Crowd, result: Result<Admitted>, lane: string): void => {
  if (!result.ok || result.value.again) return;
  const { task, run } = result.value;
  if (!crowd.tasks.some(({ id }) => id === task.id)) crowd.tasks.push({ id: task.id, lane, wave: crowd.wave });
  if (run) crowd.runs.push(run);
};

const CALLS = {
  admit: async (crowd: Crowd, a: number, b: number) => {
    const lane = some(crowd.lanes, a) ?? '';
    const instance = some(crowd.instances, b);
    const slot = instance !== undefined && b % 2 === 0 ? { slot: { instance } } : {};
    keep(crowd, await crowd.corner.tasks.admit(crowd.corner.admission({ session: lane, ...slot })), lane);
  },
  follow: async (crowd: Crowd, a: number, b: number) => {
    const task = some(crowd.tasks, a);
    const instance = some(crowd.instances, b);
    const slot = instance !== undefined && b % 2 === 0 ? { slot: { instance } } : {};
    if (task) keep(crowd, await crowd.corner.follow(task.id, { steerable: b % 3 === 0, ...slot }), task.lane);
  },
  claim: async (crowd: Crowd, a: number, b: number) => {
    const claimed = await crowd.corner.claim(some(crowd.instances, a) ?? '', { free: 1 + (b % 3) });
    crowd.runs.push(...claimed.map(({ run }) => run));
  },
  append: async (crowd: Crowd, a: number, b: number) => {
    const run = some(crowd.runs, a);
    const events = b % 3 === 0 ? [question(`${b}?`)] : [chunk(`${a}`), chunk(`${b}`)];
    if (run) await crowd.corner.tasks.append(run.token, events, crowd.corner.later());
  },
  finish: async ({ corner, runs }: Crowd, a: number, b: number) => {
    const run = some(runs, a);
    const state = b % 2 === 0 ? 'failed' : 'input-required';
    if (run) await corner.tasks.finish(run.token, [turnEnded(state)], corner.later(), true);
  },
  /** The task ends first and its run a little later, as after a cancel that was slow. */
  finishLate: async ({ corner, runs }: Crowd, a: number) => {
    const run = some(runs, a);
    if (!run) return;
    const end = await corner.tasks.finish(run.token, [turnEnded('canceled')], corner.later(), false);
    if (end.ok) await corner.tasks.release(run.token, corner.later());
  },
  retry: async ({ corner, runs }: Crowd, a: number) => {
    const run = some(runs, a);
    if (run) await corner.tasks.release(run.token, corner.later(), 0);
  },
  requestCancel: async ({ corner, tasks }: Crowd, a: number) => {
    const task = some(tasks, a);
    if (task) await corner.tasks.requestCancel(corner.scope, task.id, 'somebody', corner.later());
  },
  force: async ({ corner, tasks }: Crowd, a: number) => {
    const task = some(tasks, a);
    if (task) await corner.tasks.force(task.id, ['submitted', 'working'], timedOut, corner.later());
  },
  remove: async ({ corner, tasks }: Crowd, a: number, b: number) => {
    const task = b % 3 === 0 ? some(tasks, a) : undefined;
    if (task) await corner.tasks.remove(corner.scope, task.id, corner.later());
  },
  pause: async ({ corner, lanes }: Crowd, a: number, b: number) => {
    await corner.storage.lanes.pause(some(lanes, a) ?? '', b % 3 === 0, 'operator', corner.later());
  },
  /** An instance dies, another comes and takes over. */
  succeed: async (crowd: Crowd, a: number) => {
    const { corner, instances, runs } = crowd;
    const dead = some(instances, a) ?? '';
    await corner.expire(dead);
    const heir = await corner.instance();
    // Somebody else may have put another in its place meanwhile; then there is one more.
    const place = instances.indexOf(dead);
    instances.splice(place < 0 ? instances.length : place, 1, heir);
    runs.push(...(await corner.reap(heir)).map(({ run }) => run));
  },
  look: async ({ corner, tasks, expect }: Crowd, a: number) => {
    const task = some(tasks, a);
    const found = task && (await corner.tasks.find(corner.scope, task.id));
    if (!found) return;
    const log = await corner.log(found.id);
    // Removed meanwhile: then there is nothing to compare.
    if (log.length > 0) expect(snapshotOf(found)).toEqual(foldedUpTo(log, found.seq));
  },
} as const;

export type Wave = readonly Call[];

/** Waves of calls; those of one wave are all made before any of them is answered. */
export const waves = (fc: Fc): FastCheck.Arbitrary<readonly Wave[]> => {
  const often = ['admit', 'admit', 'admit', 'claim', 'claim', 'claim', 'finish', 'finish', 'follow', 'append'] as const;
  const kind = fc.constantFrom<Call['kind'][]>(...often, ...(Object.keys(CALLS) as Call['kind'][]));
  const call = fc.record({ kind, a: fc.nat({ max: 23 }), b: fc.nat({ max: 11 }) });
  return fc.array(fc.array(call, { minLength: 2, maxLength: 10 }), { minLength: 1, maxLength: 8, size: 'max' });
};

export const rush = async (crowd: Crowd, wave: Wave): Promise<void> => {
  crowd.wave += 1;
  await Promise.all(wave.map(({ kind, a, b }) => CALLS[kind](crowd, a, b)));
};

/** Everybody goes home: every run is taken over and ended, every waiting turn comes up, and the lanes are empty. */
export const disperse = async (crowd: Crowd): Promise<void> => {
  const { corner, expect } = crowd;
  for (const instance of crowd.instances) await corner.tasks.leave(instance);
  for (const lane of crowd.lanes) await corner.storage.lanes.pause(lane, false, 'operator', corner.later());
  const last = await corner.instance();
  let runs = (await corner.reap(last)).map(({ run }) => run);
  do {
    for (const { token } of runs) {
      const end = await corner.tasks.finish(token, [turnEnded('canceled')], corner.later(), true);
      if (!end.ok) accepted(await corner.tasks.release(token, corner.later()));
    }
    runs = (await corner.claim(last, { free: 9 })).map(({ run }) => run);
  } while (runs.length > 0);
  expect(await corner.storage.lanes.list({ agent: corner.agent, limit: 9 })).toEqual([]);
};
