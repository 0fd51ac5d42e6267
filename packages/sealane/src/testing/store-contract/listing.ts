import type { State } from '#domain';

import type { Corner } from './contract-corner.ts';
import { accepted, chunk, idsOf, turnEnded } from './contract-events.ts';
import type { Suite } from './suite.ts';

/** One task of every combination: 2 contexts × 2 agents × 4 states, each with a status of its own time. */
const fill = async (c: Corner) => {
  const me = await c.instance();
  const made: { id: string; contextId: string; agent: string; state: State; statusAt: string }[] = [];
  for (const contextId of ['c1', 'c2'].map(c.name)) {
    for (const agent of ['a1', 'a2'].map(c.name)) {
      for (const state of ['working', 'completed', 'failed', 'input-required'] as const) {
        const { token } = await c.start(me, { contextId, agent });
        if (state !== 'working') accepted(await c.tasks.finish(token, [turnEnded(state)], c.later(), true));
        const { statusAt } = await c.task(token.taskId);
        made.push({ id: token.taskId, contextId, agent, state, statusAt });
      }
    }
  }
  return made;
};

const byStatus = (a: { readonly statusAt: string }, b: { readonly statusAt: string }): number =>
  a.statusAt < b.statusAt ? 1 : -1;

export const describeListing = ({ it, expect }: Suite): void => {
  it('every filter and every combination of filters answers exactly the tasks that match, in both orders', async (c) => {
    const made = await fill(c);
    const middle = made[7]?.statusAt ?? '';
    const optional = <T>(...values: readonly T[]): readonly (T | undefined)[] => [undefined, ...values];
    const states = optional<readonly State[]>(['completed'], ['working', 'failed'], ['rejected']);
    for (const contextId of optional(c.name('c1'), c.name('c3'))) {
      for (const agent of optional(c.name('a2'))) {
        for (const state of states) {
          for (const since of optional(middle)) {
            const matching = made.filter(
              (task) =>
                (contextId === undefined || task.contextId === contextId) &&
                (agent === undefined || task.agent === agent) &&
                (state === undefined || state.includes(task.state)) &&
                (since === undefined || task.statusAt >= since),
            );
            const query = {
              ...(contextId !== undefined && { contextId }),
              ...(agent !== undefined && { agent }),
              ...(state !== undefined && { states: state }),
              ...(since !== undefined && { since }),
            };
            const updated = await c.list(query);
            expect(idsOf(updated.tasks)).toEqual(idsOf(matching.toSorted(byStatus)));
            expect(updated.total).toBe(matching.length);
            const inserted = await c.list({ ...query, order: 'inserted' });
            expect(idsOf(inserted.tasks)).toEqual(idsOf(matching));
            expect(inserted.total).toBe(matching.length);
          }
        }
      }
    }
  });

  it('the operator filters by owner', async (c) => {
    const [mine, theirs] = [c.name('mine'), c.name('theirs')];
    const { task } = await c.admit({ owner: mine, session: c.name('a') });
    await c.admit({ owner: theirs, session: c.name('b') });
    const { contextId } = task;
    expect(idsOf((await c.list({ contextId, owner: mine }, 'all')).tasks)).toEqual([task.id]);
    expect((await c.list({ contextId }, 'all')).total).toBe(2);
  });

  it('a list of no states matches nothing', async (c) => {
    await c.admit();
    for (const order of ['updated', 'inserted'] as const) {
      expect(await c.list({ states: [], order })).toEqual({ tasks: [], total: 0 });
    }
  });

  it('`updated`: newest status first; a status moves its task to the front, a chunk does not', async (c) => {
    const me = await c.instance();
    const [a, b] = [await c.start(me), await c.start(me)];
    const ids = async () => idsOf((await c.list()).tasks);
    expect(await ids()).toEqual([b.token.taskId, a.token.taskId]);
    await c.append(a, chunk('x'));
    expect(await ids()).toEqual([b.token.taskId, a.token.taskId]);
    await c.append(a, { kind: 'status-reported', state: 'working' });
    expect(await ids()).toEqual([a.token.taskId, b.token.taskId]);
  });

  it('tasks with statuses of one moment are listed newest task first', async (c) => {
    const at = c.later();
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.push((await c.admit({ at })).task.id);
    expect(idsOf((await c.list()).tasks)).toEqual(ids.toReversed());
  });

  it('`inserted`: oldest task first, whatever has happened to it since', async (c) => {
    const me = await c.instance();
    const runs = [await c.start(me), await c.start(me), await c.start(me)];
    await c.complete(runs[0] as (typeof runs)[0]);
    expect(idsOf((await c.list({ order: 'inserted' })).tasks)).toEqual(runs.map(({ token }) => token.taskId));
  });

  it('listed tasks are whole: what `find` answers, with their places while they wait', async (c) => {
    const me = await c.instance();
    const run = await c.start(me, { session: c.name('main') });
    await c.append(run, chunk('half'), { kind: 'status-reported', state: 'working', metadata: { step: 1 } });
    await c.admit();
    const { tasks } = await c.list();
    for (const task of tasks) expect(task).toEqual(await c.task(task.id));
    expect(tasks.map(({ queuePosition }) => queuePosition)).toEqual([1, undefined]);
  });

  it('without artifacts, the tasks are the same but for those', async (c) => {
    const me = await c.instance();
    const [streaming, completed] = [await c.start(me), await c.start(me)];
    for (const run of [streaming, completed]) await c.append(run, chunk('a lot'));
    await c.complete(completed);
    const { tasks } = await c.list({ withArtifacts: false });
    expect(tasks.map(({ artifacts }) => artifacts)).toEqual(['[]', '[]']);
    for (const task of tasks) expect({ ...(await c.task(task.id)), artifacts: '[]' }).toEqual(task);
  });

  it('direct tasks are found and not listed', async (c) => {
    const { task } = await c.admit({ direct: true });
    expect(await c.tasks.find(c.scope, task.id)).toEqual(task);
    for (const scope of [c.scope, 'all'] as const) {
      for (const order of ['updated', 'inserted'] as const) {
        expect(await c.list({ contextId: task.contextId, order }, scope)).toEqual({ tasks: [], total: 0 });
      }
    }
  });
};
