import type { NewEvent } from '#domain';

import {
  accepted,
  agentMessage,
  chunk,
  foldedUpTo,
  isRejected,
  kindsOf,
  progress,
  question,
  refusal,
  seqsOf,
  snapshotOf,
  turnEnded,
} from './contract-events.ts';
import type { Suite } from './suite.ts';

export const describeRuns = ({ it, expect }: Suite): void => {
  it('append numbers what a run reports; chunks leave the status alone, reports set it', async (c) => {
    const run = await c.start(await c.instance());
    const { taskId } = run.token;
    const { statusAt, updatedAt } = await c.task(taskId);
    const events = await c.append(run, chunk('one '), chunk('two'));
    expect(events.map(({ seq }) => seq)).toEqual([3, 4]);
    const streamed = await c.task(taskId);
    expect(streamed).toMatchObject({ state: 'working', statusAt, updatedAt, seq: 4 });
    expect(JSON.parse(streamed.artifacts)).toEqual([{ artifactId: 'answer', parts: [{ text: 'one two' }] }]);

    const [asked] = await c.append(run, question('which one?'));
    const task = await c.task(taskId);
    expect(task).toMatchObject({ state: 'input-required', statusAt: asked?.at });
    expect(JSON.parse(task.statusMessage ?? '')).toMatchObject({ parts: [{ text: 'which one?' }] });
  });

  it('`lost`: after `reap` gave the run a new epoch, every call of the old holder writes nothing', async (c) => {
    const [old, heir] = [await c.instance(), await c.instance()];
    const { token } = await c.start(old, { session: c.name('main') });
    await c.admit();
    await c.expire(old);
    const [reaped] = await c.reap(heir);
    const [before, log] = [await c.task(token.taskId), await c.log(token.taskId)];
    expect(refusal(await c.tasks.append(token, [chunk('late')], c.later()))).toBe('lost');
    expect(refusal(await c.tasks.remember(token, { late: true }))).toBe('lost');
    expect(refusal(await c.tasks.finish(token, [turnEnded('completed')], c.later(), true))).toBe('lost');
    expect(refusal(await c.tasks.finish(token, [turnEnded('completed')], c.later(), false))).toBe('lost');
    expect(refusal(await c.tasks.release(token, c.later()))).toBe('lost');
    expect(refusal(await c.tasks.release(token, c.later(), c.later()))).toBe('lost');
    expect(await c.task(token.taskId)).toEqual(before);
    expect(await c.log(token.taskId)).toEqual(log);
    // The lane is still held, and by the new holder alone.
    expect(await c.claim(heir)).toEqual([]);
    if (!reaped) throw new Error('The run was not reaped.');
    expect(reaped.run.ref).toBe(undefined);
    await c.complete(reaped.run);
  });

  it('append refuses what ends a turn or its task, and writes nothing: that is for finish', async (c) => {
    const me = await c.instance();
    const run = await c.start(me);
    const ends = [turnEnded('completed'), turnEnded('input-required'), { kind: 'status-reported', state: 'failed' }];
    for (const event of ends as readonly NewEvent[]) {
      expect(await isRejected(c.tasks.append(run.token, [chunk('x'), event], c.later()))).toBe(true);
    }
    expect(await c.log(run.token.taskId)).toHaveLength(2);
    await c.complete(run);
  });

  it('`unfinished`: release frees no lane of a turn without an end, unless it says when to try again', async (c) => {
    const me = await c.instance();
    const run = await c.start(me, { session: c.name('main') });
    await c.admit();
    expect(refusal(await c.tasks.release(run.token, c.later()))).toBe('unfinished');
    expect(await c.claim(me)).toEqual([]);
    accepted(await c.tasks.finish(run.token, [turnEnded('completed')], c.later(), false));
    accepted(await c.tasks.release(run.token, c.later()));
    expect(await c.claim(me)).toHaveLength(1);
  });

  it('an event is read as it was written, with every member that it had', async (c) => {
    const run = await c.start(await c.instance());
    const message = { ...c.message(), extensions: ['x'], referenceTaskIds: ['y'], metadata: { a: [1, { b: null }] } };
    const said = [
      { kind: 'status-reported', state: 'working', message, metadata: { m: 1 }, later: 'a member of a later version' },
      { ...chunk('x'), lastChunk: true, append: true, metadata: { n: 2 }, later: true },
    ] as unknown as readonly NewEvent[];
    const reasons = { reason: 'r', forced: true, metadata: { o: 3 }, later: 1 };
    const end = { ...turnEnded('failed', 'why'), ...reasons } as NewEvent;
    await c.append(run, ...said);
    accepted(await c.tasks.finish(run.token, [end], c.later(), true));
    expect((await c.log(run.token.taskId)).slice(2).map(({ event }) => event)).toEqual([...said, end]);
  });

  it('finish ends the turn: it appends, folds the snapshot and answers the task', async (c) => {
    const run = await c.start(await c.instance());
    await c.append(run, chunk('one '));
    const at = c.later();
    const { task, events } = accepted(
      await c.tasks.finish(run.token, [chunk('two'), turnEnded('completed', 'done')], at, true),
    );
    expect(kindsOf(events)).toEqual(['artifact-added', 'turn-ended']);
    expect(task).toMatchObject({ state: 'completed', updatedAt: new Date(at).toISOString(), seq: 5 });
    expect(JSON.parse(task?.artifacts ?? '')).toMatchObject([{ parts: [{ text: 'one two' }] }]);
    expect(task).toEqual(await c.task(run.token.taskId));
  });

  it('finish leaves the task out of its answer where nobody waits for it', async (c) => {
    const run = await c.start(await c.instance());
    const finished = accepted(await c.tasks.finish(run.token, [turnEnded('completed')], c.later(), true, false));
    expect(finished.task).toBe(undefined);
    expect(seqsOf(finished.events)).toEqual([3]);
    expect((await c.task(run.token.taskId)).state).toBe('completed');
  });

  it('the task that finish answers is the task that is found, whatever went before', async (c) => {
    const me = await c.instance();
    const whole = (id: string, text: string): NewEvent => ({
      kind: 'artifact-added',
      artifact: { artifactId: id, parts: [{ text }] },
    });
    const long: NewEvent = {
      kind: 'status-reported',
      state: 'working',
      message: agentMessage('x'.repeat(1000)),
      metadata: { step: 1 },
    };
    const histories: readonly { readonly before: readonly NewEvent[]; readonly last: readonly NewEvent[] }[] = [
      { before: [], last: [turnEnded('completed')] },
      { before: [], last: [turnEnded('input-required', 'which "one"? 🦭')] },
      { before: [], last: [whole('a', 'one'), whole('b', 'two'), turnEnded('completed', 'done')] },
      { before: [], last: [whole('a', 'one'), whole('a', 'two'), turnEnded('completed', 'done')] },
      { before: [], last: [progress('late'), turnEnded('completed')] },
      { before: [], last: [{ kind: 'turn-ended', state: 'failed', reason: 'error', metadata: { a: 1 } }] },
      { before: [whole('a', 'one')], last: [whole('a', 'two'), turnEnded('completed')] },
      { before: [question('which one?'), progress('never mind')], last: [whole('a', 'one'), turnEnded('completed')] },
      { before: [question('which one?')], last: [turnEnded('failed', 'no answer')] },
      { before: Array.from({ length: 400 }, () => long), last: [turnEnded('completed', 'done')] },
    ];
    for (const { before, last } of histories) {
      const run = await c.start(me, { metadata: { kept: true } });
      if (before.length > 0) await c.append(run, ...before);
      const { task } = accepted(await c.tasks.finish(run.token, last, c.later(), true));
      const found = await c.task(run.token.taskId);
      expect(task).toEqual(found);
      expect(snapshotOf(found)).toEqual(foldedUpTo(await c.log(run.token.taskId), found.seq));
    }
  });

  it('nothing sets a state but a move of the table: a step that tries is rejected and writes nothing', async (c) => {
    const run = await c.start(await c.instance(), { session: c.name('main') });
    const { taskId } = run.token;
    const atWork = await c.task(taskId);
    expect(
      await isRejected(c.tasks.append(run.token, [{ kind: 'status-reported', state: 'submitted' }], c.later())),
    ).toBe(true);
    expect(await c.task(taskId)).toEqual(atWork);
    await c.append(run, question('which one?'));
    const [before, log] = [await c.task(taskId), await c.log(taskId)];
    const end = [chunk('x'), turnEnded('completed')];
    expect(await isRejected(c.tasks.finish(run.token, end, c.later(), true))).toBe(true);
    const back: NewEvent = { kind: 'status-reported', state: 'submitted' };
    expect(await isRejected(c.tasks.append(run.token, [progress('on'), back], c.later()))).toBe(true);
    expect(await c.task(taskId)).toEqual(before);
    expect(await c.log(taskId)).toEqual(log);
    // The run goes on as if it had not tried.
    await c.append(run, progress('on'));
    await c.complete(run);
  });

  it('finish without release keeps the lane until the run is released', async (c) => {
    const me = await c.instance();
    const run = await c.start(me, { session: c.name('main') });
    const { task: next } = await c.admit();
    accepted(await c.tasks.finish(run.token, [turnEnded('completed')], c.later(), false));
    expect((await c.task(run.token.taskId)).state).toBe('completed');
    expect(await c.claim(me)).toEqual([]);
    expect(await c.storage.lanes.list({ agent: c.agent, limit: 9 })).toMatchObject([
      { running: run.token.taskId, waiting: 1 },
    ]);
    expect((await c.task(next.id)).queuePosition).toBe(1);
    accepted(await c.tasks.release(run.token, c.later()));
    expect((await c.claimOne(me)).token.taskId).toBe(next.id);
  });

  it('release with `retryAt` puts the turn back at the head of its lane; each claim counts the attempt', async (c) => {
    const me = await c.instance();
    const started = c.later();
    const run = await c.start(me, { session: c.name('main'), at: started });
    const { taskId } = run.token;
    const { task: next } = await c.admit();
    let held = run;
    for (const attempt of [2, 3]) {
      const at = c.later();
      accepted(await c.tasks.release(held.token, at, at));
      expect(await c.storage.lanes.list({ agent: c.agent, limit: 9 })).toMatchObject([{ running: null, waiting: 2 }]);
      expect((await c.task(next.id)).queuePosition).toBe(1);
      held = await c.claimOne(me);
      expect(held).toMatchObject({ token: { taskId }, turn: 1, attempt, startedAt: started, message: run.message });
    }
    const starts = (await c.log(taskId)).map(({ event }) => (event.kind === 'run-started' ? event.attempt : 0));
    expect(starts.filter((attempt) => attempt > 0)).toEqual([1, 2, 3]);
    await c.complete(held);
    expect((await c.claimOne(me)).token.taskId).toBe(next.id);
  });

  it('release with `isDrain` counts a planned stop apart from the attempts, until the next turn begins', async (c) => {
    const me = await c.instance();
    let held = await c.start(me, { session: c.name('main') });
    const { taskId } = held.token;
    const numbers: (readonly [attempt: number, drains: number])[] = [[held.attempt, held.drains]];
    for (const isDrain of [true, false, true]) {
      const at = c.later();
      accepted(await c.tasks.release(held.token, at, at, isDrain));
      held = await c.claimOne(me);
      numbers.push([held.attempt, held.drains]);
    }
    expect(numbers).toEqual([
      [1, 0],
      [2, 1],
      [3, 1],
      [4, 2],
    ]);
    accepted(await c.tasks.finish(held.token, [turnEnded('input-required')], c.later(), true));
    const { run: next } = accepted(await c.follow(taskId, { slot: { instance: me } }));
    expect([next?.turn, next?.attempt, next?.drains]).toEqual([2, 1, 0]);
    const at = c.later();
    if (next) accepted(await c.tasks.release(next.token, at, at));
    const again = await c.claimOne(me);
    expect([again.turn, again.attempt, again.drains]).toEqual([2, 2, 0]);
    await c.complete(again);
  });

  it('a turn of an ended task is not retried: `terminal`, and the lane stays held', async (c) => {
    const me = await c.instance();
    const run = await c.start(me, { session: c.name('main') });
    await c.admit();
    await c.complete(run, false);
    expect(refusal(await c.tasks.release(run.token, c.later(), c.later()))).toBe('terminal');
    expect(await c.claim(me)).toEqual([]);
  });

  it('a released run is over: whatever its holder still sends writes nothing and frees nothing', async (c) => {
    const me = await c.instance();
    const ended = (state: 'completed' | 'input-required'): readonly NewEvent[] => [turnEnded(state)];
    for (const state of ['completed', 'input-required'] as const) {
      const session = c.name(state);
      const { token } = await c.start(me, { session });
      const { task: second } = await c.admit({ session });
      const { task: third } = await c.admit({ session });
      accepted(await c.tasks.finish(token, ended(state), c.later(), true));
      const next = await c.claimOne(me);
      expect(next.token.taskId).toBe(second.id);
      const before = await c.task(token.taskId);

      const late = [
        await c.tasks.append(token, [progress('late')], c.later()),
        await c.tasks.remember(token, { late: true }),
        await c.tasks.finish(token, ended('completed'), c.later(), true),
        await c.tasks.release(token, c.later(), c.later()),
        await c.tasks.release(token, c.later()),
      ];
      expect(late.map(({ ok }) => ok)).toEqual([false, false, false, false, false]);
      expect(await c.task(token.taskId)).toEqual(before);
      // The second turn holds the lane as before, and the third waits for it.
      expect(await c.claim(me)).toEqual([]);
      expect(await c.storage.lanes.list({ agent: c.agent, limit: 9 })).toMatchObject([
        { running: second.id, waiting: 1 },
      ]);
      expect((await c.task(third.id)).queuePosition).toBe(1);
      await c.complete(next);
      await c.complete(await c.claimOne(me));
    }
  });

  it('a run that was given back for a retry is over: its holder writes nothing more', async (c) => {
    const me = await c.instance();
    const { token } = await c.start(me);
    const at = c.later();
    accepted(await c.tasks.release(token, at, at));
    const before = await c.task(token.taskId);
    expect(refusal(await c.tasks.append(token, [progress('late')], c.later()))).toBe('lost');
    expect(refusal(await c.tasks.finish(token, [turnEnded('completed')], c.later(), true))).toBe('lost');
    expect(refusal(await c.tasks.release(token, c.later()))).toBe('lost');
    expect(await c.task(token.taskId)).toEqual(before);
    expect((await c.claimOne(me)).attempt).toBe(2);
  });

  it('a run that is over never writes into a task that came after it', async (c) => {
    const me = await c.instance();
    const { token } = await c.start(me);
    accepted(await c.tasks.finish(token, [turnEnded('completed')], c.later(), true));
    accepted(await c.tasks.remove(c.scope, token.taskId, c.later()));
    const successor = await c.start(me, { owner: c.name('stranger') });
    const before = await c.task(successor.token.taskId);
    expect(refusal(await c.tasks.append(token, [chunk('late')], c.later()))).toBe('lost');
    expect(refusal(await c.tasks.finish(token, [turnEnded('failed')], c.later(), true))).toBe('lost');
    expect(refusal(await c.tasks.release(token, c.later()))).toBe('lost');
    expect(await c.task(successor.token.taskId)).toEqual(before);
    await c.complete(successor);
  });
};
