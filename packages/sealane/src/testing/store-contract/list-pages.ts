import { SealaneError } from '#domain';
import type { ListQuery, Run } from '#store';

import type { Corner } from './contract-corner.ts';
import { accepted, idsOf } from './contract-events.ts';
import type { Suite } from './suite.ts';

const ORDERS = ['updated', 'inserted'] as const;

/** Goes through all pages, with something happening between them. */
const walk = async (
  c: Corner,
  query: Partial<ListQuery>,
  between: (page: number) => Promise<void> = async () => {},
) => {
  const ids: string[] = [];
  const sizes: number[] = [];
  let after: string | undefined;
  do {
    const page = await c.list({ ...query, ...(after !== undefined && { after }) });
    ids.push(...idsOf(page.tasks));
    sizes.push(page.tasks.length);
    after = page.next;
    await between(sizes.length);
  } while (after !== undefined && sizes.length < 100);
  return { ids, sizes };
};

const admitMany = async (c: Corner, count: number, at?: number): Promise<readonly string[]> => {
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) {
    const { task } = await c.admit({ session: c.name(`lane-${n}`), ...(at !== undefined && { at }) });
    ids.push(task.id);
  }
  return ids;
};

const codeOf = async (call: Promise<unknown>): Promise<string> => {
  try {
    await call;
    return 'accepted';
  } catch (error) {
    return error instanceof SealaneError ? error.code : `not a SealaneError: ${String(error)}`;
  }
};

export const describeListPages = ({ it, expect }: Suite): void => {
  it('pages follow each other without gap or repetition; `next` is absent on the last page', async (c) => {
    const ids = await admitMany(c, 7);
    for (const order of ORDERS) {
      const expected = order === 'updated' ? ids.toReversed() : ids;
      expect(await walk(c, { order, limit: 3 })).toEqual({ ids: expected, sizes: [3, 3, 1] });
      // A last page that is full is still the last.
      expect(await walk(c, { order, limit: 7 })).toEqual({ ids: expected, sizes: [7] });
      expect(await walk(c, { order, limit: 1 })).toEqual({ ids: expected, sizes: [1, 1, 1, 1, 1, 1, 1] });
    }
  });

  it('pages cut through statuses of one moment', async (c) => {
    const ids = await admitMany(c, 7, c.later());
    for (const order of ORDERS) {
      const expected = order === 'updated' ? ids.toReversed() : ids;
      expect((await walk(c, { order, limit: 2 })).ids).toEqual(expected);
    }
  });

  it('`total` counts all matches on every page', async (c) => {
    await admitMany(c, 5);
    for (const order of ORDERS) {
      const first = await c.list({ order, limit: 2 });
      const second = await c.list({ order, limit: 2, after: first.next ?? '' });
      expect([first.total, second.total]).toEqual([5, 5]);
    }
  });

  it('filters hold on every page', async (c) => {
    const ids = await admitMany(c, 6);
    const me = await c.instance();
    const claimed = await c.claim(me, { free: 3 });
    const working = claimed.map(({ run }) => run.token.taskId);
    const submitted = ids.filter((id) => !working.includes(id));
    for (const order of ORDERS) {
      const { ids: seen } = await walk(c, { order, limit: 2, states: ['submitted'] });
      expect(seen.toSorted()).toEqual(submitted.toSorted());
      const both = await walk(c, { order, limit: 2, states: ['submitted', 'working'] });
      expect(both.ids.toSorted()).toEqual(ids.toSorted());
    }
  });

  it('a cursor stays good when tasks are updated between pages: no task comes twice, none that rested is missed', async (c) => {
    for (const order of ORDERS) {
      const session = c.name(order);
      const contextId = c.name(order);
      const me = await c.instance();
      const runs: Run[] = [];
      for (let n = 0; n < 9; n += 1) runs.push(await c.start(me, { contextId, session: `${session}-${n}` }));
      const { ids } = await walk(c, { order, contextId, limit: 2 }, async (page) => {
        // The last task of the page just read, and one that has not been read yet.
        const touched = order === 'updated' ? [runs[9 - 2 * page], runs[0]] : [runs[2 * page - 1], runs[8]];
        for (const run of touched) if (run) await c.append(run, { kind: 'status-reported', state: 'working' });
      });
      expect(new Set(ids).size).toBe(ids.length);
      const rested = runs.slice(1, 8).map(({ token }) => token.taskId);
      expect(rested.filter((id) => !ids.includes(id))).toEqual([]);
    }
  });

  it('a cursor stays good when tasks are deleted between pages, the one it points to included', async (c) => {
    for (const order of ORDERS) {
      const contextId = c.name(order);
      const ids: string[] = [];
      for (let n = 0; n < 8; n += 1) {
        ids.push((await c.admit({ contextId, session: c.name(`${order}-${n}`) })).task.id);
      }
      const expected = order === 'updated' ? ids.toReversed() : ids;
      const seen = await walk(c, { order, contextId, limit: 3 }, async (page) => {
        const last = expected[3 * page - 1];
        if (last !== undefined) accepted(await c.tasks.remove(c.scope, last, c.later()));
      });
      expect(seen.ids).toEqual(expected);
    }
  });

  it('a task that is made while a reader is between pages has its place behind the cursor, in insertion order', async (c) => {
    const ids = await admitMany(c, 3);
    const first = await c.list({ order: 'inserted', limit: 2 });
    for (const id of ids.slice(1)) accepted(await c.tasks.remove(c.scope, id, c.later()));
    const { task } = await c.admit({ session: c.name('new') });
    const second = await c.list({ order: 'inserted', limit: 2, after: first.next ?? '' });
    expect(idsOf(second.tasks)).toEqual([task.id]);
  });

  it('a cursor that this store did not make for this order is refused as `invalid-params`', async (c) => {
    await admitMany(c, 3);
    const { next = '' } = await c.list({ order: 'updated', limit: 1 });
    expect(await codeOf(c.list({ order: 'inserted', after: next }))).toBe('invalid-params');
    const bad = [
      '',
      'x',
      'bm9uc2Vuc2U',
      next.slice(0, -4),
      Buffer.from('[1]').toString('base64url'),
      '🦭',
      '5',
      'null',
    ];
    for (const order of ORDERS) {
      for (const after of bad) expect(await codeOf(c.list({ order, after }))).toBe('invalid-params');
    }
  });
};
