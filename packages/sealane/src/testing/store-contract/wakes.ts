import type { Storage, TaskId, TaskStore } from '#store';

import type { Corner } from './contract-corner.ts';
import { accepted, chunk, refusal, turnEnded } from './contract-events.ts';
import type { Suite } from './suite.ts';

/** A wake comes within moments; one that has not come by then never will. */
const WAIT_MS = 3000;

/** Does something, and resolves when a wake that fits has been heard. */
const wakeAfter = async (
  hears: TaskStore,
  fits: (ids: readonly TaskId[]) => boolean,
  act: () => Promise<unknown>,
): Promise<void> => {
  const heard = Promise.withResolvers<void>();
  using _ = hears.onWake((ids) => {
    if (fits(ids)) heard.resolve();
  });
  await act();
  const timer = setTimeout(() => heard.reject(new Error(`No wake was heard after: ${act.toString()}`)), WAIT_MS);
  await heard.promise.finally(() => clearTimeout(timer));
};

const noIds = (ids: readonly TaskId[]): boolean => ids.length === 0;

/** Everything that makes a lane ready, one after the other. */
const readyLanes = async (c: Corner, expectWake: (act: () => Promise<unknown>) => Promise<void>): Promise<void> => {
  const me = await c.instance();
  await expectWake(() => c.admit());
  const run = await c.claimOne(me);
  await c.admit();
  await expectWake(() => c.complete(run));
  const second = await c.claimOne(me);
  await c.admit();
  await c.complete(second, false);
  await expectWake(() => c.tasks.release(second.token, c.later()));
  const third = await c.claimOne(me);
  const at = c.later();
  await expectWake(() => c.tasks.release(third.token, at, at));
  await c.storage.lanes.pause(c.name('main'), true, 'operator', c.later());
  await expectWake(() => c.storage.lanes.pause(c.name('main'), false, 'operator', c.later()));
  await c.storage.lanes.pauseAgent(c.agent, true, 'operator', c.later());
  await expectWake(() => c.storage.lanes.pauseAgent(c.agent, false, 'operator', c.later()));
  const fourth = await c.claimOne(me);
  const retryAt = c.later() + 3_600_000;
  await c.admit();
  accepted(await c.tasks.release(fourth.token, c.later(), retryAt));
  await expectWake(() => c.tasks.requestCancel(c.scope, fourth.token.taskId, 'somebody', c.later()));
  await expectWake(() => c.tasks.leave(me));
};

export const describeWakes = ({ it, expect }: Suite): void => {
  it('without ids: some lane may be ready', async (c) => {
    await readyLanes(c, (act) => wakeAfter(c.tasks, noIds, act));
  });

  it('nobody is told after the end of listening', async (c) => {
    const heard: unknown[] = [];
    c.tasks.onWake((ids) => heard.push(ids))[Symbol.dispose]();
    await wakeAfter(c.tasks, noIds, () => c.admit());
    expect(heard).toEqual([]);
  });
};

const neighbourOf = ({ neighbour }: Corner): Storage => {
  if (!neighbour) throw new Error('A store that several processes share must be tested with a neighbour.');
  return neighbour;
};

/** What one instance of a shared store learns of another. */
export const describeNeighbours = ({ it, expect }: Suite): void => {
  it('without ids: the neighbour is told as well', async (c) => {
    const neighbour = neighbourOf(c);
    const marker = await c.start(await c.instance());
    await readyLanes(c, async (act) => {
      // Wakes come in order: once this one is heard, none of an earlier step is still on its way.
      const isMarker = (ids: readonly TaskId[]): boolean => ids.includes(marker.token.taskId);
      await wakeAfter(neighbour.tasks, isMarker, () => c.append(marker, chunk('x')));
      await wakeAfter(neighbour.tasks, noIds, act);
    });
  });

  it('with ids: another instance has written events of these tasks, whatever the step', async (c) => {
    const neighbour = neighbourOf(c);
    const me = await c.instance();
    const tells = (id: TaskId, act: () => Promise<unknown>) =>
      wakeAfter(neighbour.tasks, (ids) => ids.includes(id), act);
    const admission = c.admission();
    const { id } = admission;
    await tells(id, () => c.tasks.admit(admission));
    const claimed: { run?: Awaited<ReturnType<Corner['claimOne']>> } = {};
    await tells(id, async () => (claimed.run = await c.claimOne(me)));
    const { run } = claimed;
    if (!run) throw new Error('Nothing was claimed.');
    await tells(id, () => c.append(run, chunk('x')));
    await tells(id, () => c.follow(id, { steerable: true }));
    await tells(id, () => c.tasks.finish(run.token, [turnEnded('input-required')], c.later(), true));
    await tells(id, () => c.follow(id));
    await tells(id, () => c.tasks.force(id, ['submitted'], turnEnded('failed'), c.later()));
    const running = await c.start(me);
    const { taskId } = running.token;
    await tells(taskId, () => c.tasks.requestCancel(c.scope, taskId, 'somebody', c.later()));
    const statusAt = new Date(c.later()).toISOString();
    const snapshot = { state: 'working', statusAt, artifacts: [], history: [], metadata: {} } as const;
    const put = { ...admission, id: c.name('put'), snapshot, mode: 'upsert' } as const;
    await tells(put.id, () => c.tasks.put(put));
    await tells(put.id, () => c.tasks.put(put));
  });

  it('who is told finds the events already committed', async (c) => {
    const neighbour = neighbourOf(c);
    const run = await c.start(await c.instance());
    const { taskId } = run.token;
    // Wakes come in order: once this one is heard, that of the start is not still on its way.
    const marker = c.admission();
    const isMarker = (ids: readonly TaskId[]): boolean => ids.includes(marker.id);
    await wakeAfter(neighbour.tasks, isMarker, () => c.tasks.admit(marker));
    const seen = Promise.withResolvers<number | undefined>();
    using _ = neighbour.tasks.onWake((ids) => {
      if (ids.includes(taskId))
        neighbour.tasks.find('all', taskId).then((task) => seen.resolve(task?.seq), seen.reject);
    });
    await c.append(run, chunk('x'));
    expect(await seen.promise).toBe(3);
  });

  it('instances share everything: what one commits the other sees, and a run belongs to one of them', async (c) => {
    const neighbour = neighbourOf(c);
    const [mine, theirs] = [await c.instance(), await c.instance()];
    for (let n = 0; n < 12; n += 1) await c.admit({ session: c.name(`lane-${n}`) });
    const request = { free: { [c.agent]: 12 }, at: c.later(), ownerRunning: 0 };
    const claims = await Promise.all([
      c.tasks.claim({ ...request, instance: mine }),
      neighbour.tasks.claim({ ...request, instance: theirs }),
    ]);
    const taken = claims.flat().map(({ run }) => run.token.taskId);
    expect(new Set(taken).size).toBe(taken.length);
    for (const { run } of claims[0]) {
      const { taskId } = run.token;
      expect(await neighbour.tasks.find(c.scope, taskId)).toEqual(await c.task(taskId));
      expect(refusal(await neighbour.tasks.append(run.token, [chunk('x')], c.later()))).toBe('accepted');
    }
  });
};
