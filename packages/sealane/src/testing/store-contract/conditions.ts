import type { Admission, Condition, FollowUp } from '#store';

import type { Corner } from './contract-corner.ts';
import { accepted, refusal, webhook } from './contract-events.ts';
import { give, isThere } from './owed.ts';
import type { Suite } from './suite.ts';

const take = (c: Corner, key: string, amount?: number): Condition => ({
  name: 'probe',
  key: c.name(key),
  ...(amount !== undefined && { take: amount }),
});

/** Admits under conditions; why it was refused. */
const admit = async (c: Corner, conditions: readonly Condition[], over: Partial<Admission> = {}) =>
  await c.tasks.admit(c.admission({ session: c.name('lane'), conditions, ...over }));

export const describeConditions = ({ it, expect }: Suite): void => {
  it('a condition that holds is taken with the admission', async (c) => {
    const me = await c.instance();
    expect(await give(c, me, 'purse', 3)).toBe(3);
    expect(refusal(await admit(c, [take(c, 'purse', 2)]))).toBe('accepted');
    expect(refusal(await admit(c, [take(c, 'purse')]))).toBe('accepted');
    expect(await give(c, me, 'purse', 0)).toBe(1);
  });

  it('one that does not hold refuses by name, and nothing is written', async (c) => {
    const me = await c.instance();
    await give(c, me, 'purse', 1);
    const id = c.name('refused');
    const idempotency = { key: c.name('key'), bodyHash: 'hash' };
    const refused = await admit(c, [take(c, 'purse', 2)], { id, idempotency });
    expect(refused).toEqual({ ok: false, why: 'condition', name: 'probe', facts: { key: c.name('purse') } });
    expect(await isThere(c, id)).toBe(false);
    expect((await c.storage.lanes.list({ agent: c.agent, limit: 9 })).map(({ key }) => key)).not.toContain(
      c.name('lane'),
    );
    expect(refusal(await admit(c, [take(c, 'empty')]))).toBe('condition');
    // The key was not recorded either.
    const other = { ...idempotency, bodyHash: 'another' };
    expect(refusal(await admit(c, [take(c, 'purse', 1)], { id, idempotency: other }))).toBe('accepted');
  });

  it('what was taken is given back when the message is refused after that', async (c) => {
    const me = await c.instance();
    await give(c, me, 'purse', 5);
    await give(c, me, 'small', 1);
    expect(refusal(await admit(c, [take(c, 'small', 2), take(c, 'purse', 4)]))).toBe('condition');
    await c.admit({ session: c.name('full') });
    const full = { session: c.name('full'), limits: { laneWaiting: 1, ownerWaiting: 0 } };
    expect(refusal(await admit(c, [take(c, 'purse', 4)], full))).toBe('full');
    expect(await give(c, me, 'purse', 0)).toBe(5);
    // Those that share its way to the disk are not touched by that.
    const calls = Array.from({ length: 12 }, (_, n) => ({ id: c.name(`many-${n}`), isFull: n % 3 === 0 }));
    const answers = await Promise.all(
      calls.map(({ id, isFull }) =>
        admit(c, [take(c, 'small')], { id, session: c.name(id), ...(isFull && full) }).then(refusal),
      ),
    );
    expect(answers).toEqual(calls.map(({ isFull }) => (isFull ? 'full' : 'accepted')));
    for (const { id, isFull } of calls) expect(await isThere(c, id)).toBe(!isFull);
  });

  it('a repeat takes nothing, and is the task that is there', async (c) => {
    const me = await c.instance();
    await give(c, me, 'purse', 1);
    const idempotency = { key: c.name('key'), bodyHash: 'hash' };
    const first = accepted(await admit(c, [take(c, 'purse', 1)], { idempotency }));
    const second = accepted(await admit(c, [take(c, 'purse', 1)], { idempotency }));
    expect(second).toMatchObject({ again: true, task: { id: first.task.id } });
    expect(await give(c, me, 'purse', 0)).toBe(0);
  });

  it('hold for follow-ups as well: taken, refused, given back, and skipped by a repeat', async (c) => {
    const me = await c.instance();
    await give(c, me, 'purse', 3);
    const id = await c.interrupted(me, { session: c.name('main') });
    await c.admit();
    const message = c.message();
    expect(refusal(await c.follow(id, { message, conditions: [take(c, 'purse', 9)] }))).toBe('condition');
    expect((await c.task(id)).state).toBe('input-required');
    const limits = { laneWaiting: 1, ownerWaiting: 0 };
    expect(refusal(await c.follow(id, { message, limits, conditions: [take(c, 'purse', 2)] }))).toBe('full');
    expect(await give(c, me, 'purse', 0)).toBe(3);
    expect(refusal(await c.follow(id, { message, conditions: [take(c, 'purse', 2)] }))).toBe('accepted');
    const again = accepted(await c.follow(id, { message, conditions: [take(c, 'purse', 2)] }));
    expect(again.again).toBe(true);
    expect(await give(c, me, 'purse', 0)).toBe(1);
  });

  it('a refused follow-up keeps nothing, whatever refuses it', async (c) => {
    const me = await c.instance();
    await give(c, me, 'purse', 3);
    const ended = await c.start(me);
    await c.complete(ended);
    const working = await c.start(me);
    const asking = await c.interrupted(me);
    const follow = async (id: string, over: Partial<FollowUp> = {}) =>
      refusal(await c.follow(id, { conditions: [take(c, 'purse', 1)], ...over }));
    expect(await follow(ended.token.taskId)).toBe('terminal');
    expect(await follow(working.token.taskId)).toBe('busy');
    expect(await follow(asking, { taskBytes: 1 })).toBe('task-full');
    expect(await follow(asking, { push: webhook('one', { limit: 0 }) })).toBe('push-full');
    expect(await follow(c.name('nobody'))).toBe('absent');
    expect(await give(c, me, 'purse', 0)).toBe(3);
  });

  it('never more than there is, however many ask at the same moment', async (c) => {
    const me = await c.instance();
    await give(c, me, 'purse', 5);
    const stores = [c.tasks, (c.neighbour ?? c.storage).tasks];
    const calls = Array.from({ length: 8 }, (_, n) =>
      stores.map((tasks, side) =>
        tasks.admit(c.admission({ session: c.name(`lane-${n}-${side}`), conditions: [take(c, 'purse', 1)] })),
      ),
    );
    const answers = (await Promise.all(calls.flat())).map(refusal);
    expect(answers.filter((answer) => answer === 'accepted')).toHaveLength(5);
    expect(await give(c, me, 'purse', 0)).toBe(0);
  });
};
