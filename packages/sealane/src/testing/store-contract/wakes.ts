import type { TaskId } from '#store';

import type { Corner } from './contract-corner.ts';
import { accepted, chunk, turnEnded } from './contract-events.ts';
import type { Suite } from './suite.ts';

/** Does something, and resolves when a wake that fits has been heard; the test's own time limit ends the wait. */
const wakeAfter = async (c: Corner, fits: (ids: readonly TaskId[]) => boolean, act: () => Promise<unknown>): Promise<void> => {
  const heard = Promise.withResolvers<void>();
  using _ = c.tasks.onWake((ids) => {
    if (fits(ids)) heard.resolve();
  });
  await act();
  await heard.promise;
};

export const describeWakes = ({ it, expect }: Suite): void => {
  it('tells which task has new events, after the commit, for every step that writes some', async (c) => {
    const me = await c.instance();
    const task = (id: TaskId) => (ids: readonly TaskId[]) => ids.includes(id);
    const admission = c.admission();
    const { id } = admission;
    await wakeAfter(c, task(id), () => c.tasks.admit(admission));
    const claimed: { run?: Awaited<ReturnType<Corner['claimOne']>> } = {};
    await wakeAfter(c, task(id), async () => (claimed.run = await c.claimOne(me)));
    const { run } = claimed;
    if (!run) throw new Error('Nothing was claimed.');
    await wakeAfter(c, task(id), () => c.append(run, chunk('x')));
    await wakeAfter(c, task(id), () => c.follow(id, { steerable: true }));
    await wakeAfter(c, task(id), () => c.tasks.requestCancel(c.scope, id, 'somebody', c.later()));
    await wakeAfter(c, task(id), () => c.tasks.finish(run.token, [turnEnded('input-required')], c.later(), true));
    await wakeAfter(c, task(id), () => c.follow(id));
    await wakeAfter(c, task(id), () => c.tasks.force(id, ['submitted'], turnEnded('failed'), c.later()));
    const statusAt = new Date(c.later()).toISOString();
    const snapshot = { state: 'working', statusAt, artifacts: [], history: [], metadata: {} } as const;
    const put = { ...admission, id: c.name('put'), snapshot, mode: 'upsert' } as const;
    await wakeAfter(c, task(put.id), () => c.tasks.put(put));
    await wakeAfter(c, task(put.id), () => c.tasks.put(put));
  });

  it('a listener that is told finds the events already committed', async (c) => {
    const run = await c.start(await c.instance());
    const { taskId } = run.token;
    const seen = Promise.withResolvers<number>();
    using _ = c.tasks.onWake((ids) => {
      if (ids.includes(taskId)) c.task(taskId).then(({ seq }) => seen.resolve(seq), seen.reject);
    });
    await c.append(run, chunk('x'));
    expect(await seen.promise).toBe(3);
  });

  it('no ids: some lane may be ready', async (c) => {
    const me = await c.instance();
    const noIds = (ids: readonly TaskId[]): boolean => ids.length === 0;
    await wakeAfter(c, noIds, () => c.admit());
    const run = await c.claimOne(me);
    await c.admit();
    await wakeAfter(c, noIds, () => c.complete(run));
    const second = await c.claimOne(me);
    await c.admit();
    await c.complete(second, false);
    await wakeAfter(c, noIds, () => c.tasks.release(second.token, c.later()));
    const third = await c.claimOne(me);
    const at = c.later();
    await wakeAfter(c, noIds, () => c.tasks.release(third.token, at, at));
    await c.storage.lanes.pause(c.name('main'), true, 'operator', c.later());
    await wakeAfter(c, noIds, () => c.storage.lanes.pause(c.name('main'), false, 'operator', c.later()));
    await wakeAfter(c, noIds, () => c.tasks.leave(me));
  });

  it('a step that writes nothing wakes nobody, and neither does anything after the end of listening', async (c) => {
    const run = await c.start(await c.instance());
    const { taskId } = run.token;
    const heard: TaskId[] = [];
    {
      using _ = c.tasks.onWake((ids) => heard.push(...ids));
      accepted(await c.tasks.remember(run.token, { pid: 1 }));
      await c.follow(taskId, { steerable: false });
      await c.task(taskId);
    }
    await c.append(run, chunk('x'));
    // The wake of another task is heard after this one's would have been.
    const { task } = await c.admit();
    await wakeAfter(c, (ids) => ids.includes(task.id), () => c.tasks.requestCancel(c.scope, task.id, 'me', c.later()));
    expect(heard.filter((id) => id === taskId)).toEqual([]);
  });
};
