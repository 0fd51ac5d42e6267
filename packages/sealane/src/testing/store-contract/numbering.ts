import { accepted, chunk, foldedUpTo, kindsOf, progress, seqsOf, snapshotOf, turnEnded } from './contract-events.ts';
import type { Suite } from './suite.ts';

export const describeNumbering = ({ it, expect }: Suite): void => {
  it('events of a task are numbered 1, 2, 3, … by the store, without gap, whichever call writes them', async (c) => {
    const me = await c.instance();
    const { task, events: admitted } = await c.admit();
    const [claimed] = await c.claim(me);
    if (!claimed) throw new Error('Nothing to claim.');
    const { token } = claimed.run;
    const said = accepted(await c.tasks.append(token, [progress('a'), chunk('b'), chunk('c')], c.later())).events;
    const steered = accepted(await c.follow(task.id, { steerable: true })).events;
    const intent = accepted(await c.tasks.requestCancel(c.scope, task.id, 'somebody', c.later())).events;
    const last = accepted(await c.tasks.finish(token, [chunk('d'), turnEnded('canceled')], c.later(), true)).events;

    const log = await c.log(task.id);
    expect(seqsOf(log)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(kindsOf(log)).toEqual([
      'task-admitted',
      'run-started',
      'status-reported',
      'artifact-added',
      'artifact-added',
      'message-received',
      'cancel-requested',
      'artifact-added',
      'turn-ended',
    ]);
    // What each step answered is what stands in the log.
    expect([...admitted, ...claimed.events, ...said, ...steered, ...intent, ...last]).toEqual(log);
    expect((await c.task(task.id)).seq).toBe(9);
  });

  it('writers that come at the same moment share the numbers without gap', async (c) => {
    const run = await c.start(await c.instance());
    const id = run.token.taskId;
    await Promise.all([
      ...Array.from({ length: 20 }, (_, n) => c.append(run, chunk(`${n}`), chunk(`${n}`))),
      ...Array.from({ length: 10 }, () => c.follow(id, { steerable: true })),
      c.tasks.requestCancel(c.scope, id, 'somebody', c.later()),
    ]);
    const log = await c.log(id);
    expect(seqsOf(log)).toEqual(Array.from({ length: 2 + 40 + 10 + 1 }, (_, index) => index + 1));
    const task = await c.task(id);
    expect(snapshotOf(task)).toEqual(foldedUpTo(log, task.seq));
  });

  it('a follow-up turn and another holder go on counting where the last one stopped', async (c) => {
    const me = await c.instance();
    const id = await c.interrupted(me);
    const { run } = accepted(await c.follow(id, { slot: { instance: me } }));
    await c.tasks.leave(me);
    const heir = await c.instance();
    const [reaped] = await c.reap(heir);
    if (!run || !reaped) throw new Error('The follow-up did not start, or was not reaped.');
    expect(reaped.run.seq).toBe(run.seq);
    await c.append(reaped.run, chunk('more'));
    expect(seqsOf(await c.log(id))).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it('every event carries the time it was given', async (c) => {
    const at = c.later();
    const { task } = await c.admit({ at });
    expect((await c.log(task.id)).map((event) => event.at)).toEqual([new Date(at).toISOString()]);
    expect(task).toMatchObject({
      createdAt: new Date(at).toISOString(),
      updatedAt: new Date(at).toISOString(),
      statusAt: new Date(at).toISOString(),
    });
  });
};
