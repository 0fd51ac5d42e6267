import type { Admitted } from '#store';

import { accepted, idsOf, turnEnded } from './contract-events.ts';
import type { Suite } from './suite.ts';

const placeOf = ({ queuePosition = -1 }: Admitted['task']): number => queuePosition;

export const describeLanes = ({ it, expect }: Suite): void => {
  it('the turns of a lane start in the order in which they were admitted', async (c) => {
    const me = await c.instance();
    const ids: string[] = [];
    for (let n = 0; n < 8; n += 1) ids.push((await c.admit()).task.id);
    const started: string[] = [];
    for (let n = 0; n < 8; n += 1) {
      const run = await c.claimOne(me);
      started.push(run.token.taskId);
      await c.complete(run);
    }
    expect(started).toEqual(ids);
  });

  it('a lane has at most one held run, whoever asks for more', async (c) => {
    const instances = [await c.instance(), await c.instance(), await c.instance()];
    for (let n = 0; n < 5; n += 1) await c.admit();
    const claims = await Promise.all(instances.map((instance) => c.claim(instance, { free: 5 })));
    expect(claims.flat()).toHaveLength(1);
    expect(await c.storage.lanes.list({ agent: c.agent, limit: 9 })).toMatchObject([{ waiting: 4 }]);
    for (const instance of instances) expect(await c.claim(instance, { free: 5 })).toEqual([]);
  });

  it('lanes run beside each other', async (c) => {
    const me = await c.instance();
    const ids = [];
    for (const lane of ['a', 'b', 'c']) {
      ids.push((await c.admit({ session: c.name(lane) })).task.id);
      await c.admit({ session: c.name(lane) });
    }
    const claimed = await c.claim(me, { free: 9 });
    expect(claimed.map(({ run }) => run.token.taskId).toSorted()).toEqual(ids.toSorted());
  });

  it('a waiting task tells how many turns are ahead of it, and moves up as they end', async (c) => {
    const me = await c.instance();
    const first = await c.start(me, { session: c.name('main') });
    const ids: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      const { task, events } = await c.admit();
      expect(task.queuePosition).toBe(n + 1);
      expect(events[0]?.event).toMatchObject({ queuePosition: n + 1 });
      ids.push(task.id);
    }
    const positions = async () => Promise.all(ids.map(async (id) => (await c.task(id)).queuePosition));
    expect(await positions()).toEqual([1, 2, 3]);
    await c.complete(first);
    expect(await positions()).toEqual([0, 1, 2]);
    const second = await c.claimOne(me);
    expect(await positions()).toEqual([undefined, 1, 2]);
    await c.complete(second);
    await c.tasks.requestCancel(c.scope, ids[1] ?? '', 'somebody', c.later());
    expect(await positions()).toEqual([undefined, undefined, 0]);
    expect((await c.task(ids[2] ?? '')).queuedAt).toBe(Date.parse((await c.task(ids[2] ?? '')).createdAt));
  });

  it('a lane that has emptied can be used again', async (c) => {
    const me = await c.instance();
    for (let n = 0; n < 3; n += 1) {
      const run = await c.start(me, { session: c.name('main') });
      await c.complete(run);
      expect(await c.storage.lanes.list({ agent: c.agent, limit: 9 })).toEqual([]);
    }
  });

  it('a turn that is over frees its lane in the step that ends it, and the next one starts', async (c) => {
    const me = await c.instance();
    const run = await c.start(me, { session: c.name('main') });
    const { task: next } = await c.admit();
    expect(await c.claim(me)).toEqual([]);
    accepted(await c.tasks.finish(run.token, [turnEnded('input-required')], c.later(), true));
    expect((await c.claimOne(me)).token.taskId).toBe(next.id);
  });

  it('200 turns that come into one lane at the same moment get the places 1 to 200, and start in that order', async (c) => {
    const answered: Admitted['task'][] = [];
    await Promise.all(Array.from({ length: 200 }, async () => answered.push((await c.admit()).task)));
    const places = answered.map(placeOf);
    const inLane = answered.toSorted((a, b) => placeOf(a) - placeOf(b));
    const expected = Array.from({ length: 200 }, (_, index) => index);
    expect(inLane.map(placeOf)).toEqual(expected);
    // Over several connections the answers of two commits may cross; from one process they come in order.
    if (c.tasks.exclusive) expect(places).toEqual(expected);

    const me = await c.instance();
    const started: string[] = [];
    for (let n = 0; n < 200; n += 1) {
      const run = await c.claimOne(me);
      started.push(run.token.taskId);
      await c.complete(run);
    }
    expect(started).toEqual(idsOf(inLane));
  });

  it('who asks after another was answered stands behind it, however many ask at the same moment', async (c) => {
    const turns: { readonly place: number; readonly asked: number; readonly answered: number }[] = [];
    let moment = 0;
    const caller = async (): Promise<void> => {
      for (let n = 0; n < 8; n += 1) {
        const asked = (moment += 1);
        const { task } = await c.admit();
        turns.push({ place: placeOf(task), asked, answered: (moment += 1) });
      }
    };
    await Promise.all(Array.from({ length: 12 }, caller));
    const overtaken = turns.filter((one) =>
      turns.some((other) => other.place > one.place && other.answered < one.asked),
    );
    expect(overtaken).toEqual([]);
  });
};
