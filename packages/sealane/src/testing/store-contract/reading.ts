import type { Artifact, JsonObject, Message, NewEvent } from '#domain';

import {
  accepted,
  agentMessage,
  chunk,
  foldedUpTo,
  kindsOf,
  progress,
  question,
  seqsOf,
  snapshotOf,
  turnEnded,
} from './contract-events.ts';
import type { Suite } from './suite.ts';

/** Everything that quoting, escaping, encoding or sorting of keys could break. */
const AWKWARD =
  'quotes " \' ` backslash \\ percent % dollar $1 ? :name {key} emoji 🦭👩‍👩‍👧 line \u2028\u2029 nul \u0000 tab \t é';
const AWKWARD_OBJECT: JsonObject = {
  z: 1,
  a: { [AWKWARD]: [AWKWARD, { deep: [[], {}, [null, true, 1e21, -0.5, '']] }] },
  '10': 'numbers as keys',
  __proto__x: null,
};
/** So many chunks of a kilobyte outgrow any tail that a store might keep unfolded. */
const LONG = 600;

export const describeReading = ({ it, expect }: Suite): void => {
  it('a task and its number come from one snapshot: a reader that goes on from there misses nothing and sees nothing twice', async (c) => {
    const run = await c.start(await c.instance());
    const { taskId } = run.token;
    const writing = Array.from({ length: 60 }, (_, n) =>
      c.append(run, chunk(`${n},`), ...(n % 7 === 0 ? [progress(`step ${n}`)] : [])),
    );
    const reading = Array.from({ length: 40 }, async () => {
      await Promise.race(writing);
      const task = await c.task(taskId);
      return { task, rest: await c.tasks.read('all', taskId, task.seq, 1000) };
    });
    const seen = await Promise.all(reading);
    await Promise.all(writing);
    const log = await c.log(taskId);
    for (const { task, rest } of seen) {
      expect(snapshotOf(task)).toEqual(foldedUpTo(log, task.seq));
      expect(rest).toEqual(log.slice(task.seq, task.seq + rest.length));
    }
  });

  it('folding the whole log gives the task, also after a long tail of chunks', async (c) => {
    const run = await c.start(await c.instance(), { metadata: { kept: true } });
    const { taskId } = run.token;
    await c.append(run, question('in which language?'));
    accepted(await c.follow(taskId, { message: c.message('French') }));
    const planned: NewEvent = { kind: 'status-reported', state: 'working', metadata: { plan: ['a', 'b'] } };
    await c.append(run, planned, progress('writing'), chunk('intro', 'first'));
    const kilobyte = 'x'.repeat(1000);
    for (let n = 0; n < LONG; n += 20) {
      await c.append(run, ...Array.from({ length: 20 }, (_, k) => chunk(`${n + k} ${kilobyte}`)));
    }
    const check = async (): Promise<void> => {
      const [task, log] = [await c.task(taskId), await c.log(taskId)];
      expect(task.seq).toBe(log.length);
      expect(snapshotOf(task)).toEqual(foldedUpTo(log, task.seq));
    };
    await check();
    accepted(await c.tasks.requestCancel(c.scope, taskId, 'somebody', c.later()));
    await check();
    await c.append(run, chunk('and more'), { kind: 'run-lost', state: 'working', attempt: 1, retry: false });
    await check();
    await c.append(run, { ...chunk('replaced'), append: false } as ReturnType<typeof chunk>);
    await check();
    accepted(await c.tasks.finish(run.token, [chunk(' end'), turnEnded('canceled', 'done')], c.later(), true));
    await check();
  });

  it('a turn of any shape gives the task that its log says, to everybody who asks', async (c) => {
    const me = await c.instance();
    const words = '"}],"message":{"kind":"turn-ended"} \\ \u{1f9ad}';
    const whole = (text: string, artifactId = 'a'): NewEvent & { kind: 'artifact-added' } => ({
      kind: 'artifact-added',
      artifact: { artifactId, parts: [{ text }] },
    });
    const shapes: readonly (readonly NewEvent[])[] = [
      [turnEnded('completed')],
      [turnEnded('input-required', words)],
      [whole(words), turnEnded('completed')],
      [whole(words), turnEnded('completed', words)],
      [{ ...whole(words), lastChunk: true }, turnEnded('completed', 'yes')],
      [{ ...whole(words), lastChunk: true, metadata: { n: 1 } }, turnEnded('completed', 'yes')],
      [whole('one'), whole('two'), turnEnded('completed', 'yes')],
      [whole('one'), whole('two', 'b'), turnEnded('completed', 'yes')],
      [whole('one'), chunk('two', 'a'), turnEnded('completed', 'yes')],
      [whole('x'.repeat(5000)), turnEnded('completed', 'yes')],
      [{ ...turnEnded('failed', words), reason: 'error', metadata: { n: [1] } } as NewEvent],
      [whole(words), { ...turnEnded('completed', words), metadata: { n: [1] } } as NewEvent],
      [whole(words), { ...turnEnded('failed', words), reason: 'error' } as NewEvent],
      [whole(words), { ...turnEnded('canceled', words), forced: true } as NewEvent],
      [{ message: agentMessage(words), state: 'completed', kind: 'turn-ended' }],
    ];
    for (const metadata of [undefined, { kept: '"message":' }]) {
      for (const events of shapes) {
        const { token } = await c.start(me, { ...(metadata && { metadata }), message: c.message(words) });
        const finished = accepted(await c.tasks.finish(token, events, c.later(), true));
        const [task, log] = [await c.task(token.taskId), await c.log(token.taskId)];
        expect(snapshotOf(task)).toEqual(foldedUpTo(log, log.length));
        expect(finished.task).toEqual(task);
        const listed = async (withArtifacts: boolean) =>
          (await c.list({ withArtifacts })).tasks.find(({ id }) => id === task.id);
        expect(await listed(true)).toEqual(task);
        expect(await listed(false)).toEqual({ ...task, artifacts: '[]' });
      }
    }
  });

  it('a long task is listed as it is found', async (c) => {
    const run = await c.start(await c.instance());
    const kilobyte = 'x'.repeat(1000);
    for (let n = 0; n < LONG; n += 20) await c.append(run, ...Array.from({ length: 20 }, () => chunk(kilobyte)));
    await c.append(run, progress('tail'), chunk('tail'));
    expect((await c.list()).tasks).toEqual([await c.task(run.token.taskId)]);
  });

  it('read answers the events after a number, in order, at most as many as asked', async (c) => {
    const run = await c.start(await c.instance());
    const { taskId } = run.token;
    await c.append(run, chunk('a'), chunk('b'), chunk('c'));
    const read = async (after: number, limit: number) => seqsOf(await c.tasks.read(c.scope, taskId, after, limit));
    expect(await read(0, 2)).toEqual([1, 2]);
    expect(await read(2, 2)).toEqual([3, 4]);
    expect(await read(4, 2)).toEqual([5]);
    expect(await read(5, 2)).toEqual([]);
    expect(await read(99, 2)).toEqual([]);
    expect(await c.tasks.read(c.scope, c.name('unknown'), 0, 9)).toEqual([]);
    expect(await c.tasks.find(c.scope, c.name('unknown'))).toBe(undefined);
  });

  it('the events of a task stay when it has ended', async (c) => {
    const run = await c.start(await c.instance());
    await c.append(run, chunk('a'));
    await c.complete(run);
    const kinds = ['task-admitted', 'run-started', 'artifact-added', 'turn-ended'];
    expect(kindsOf(await c.log(run.token.taskId))).toEqual(kinds);
  });

  it('text and JSON come back unchanged: quotes, emoji, U+2028, nested metadata', async (c) => {
    const me = await c.instance();
    const message: Message = {
      messageId: `${c.name('message')} "🦭"`,
      role: 'ROLE_USER',
      parts: [{ text: AWKWARD }, { data: AWKWARD_OBJECT }, { raw: 'AAEC', mediaType: 'x/y', filename: AWKWARD }],
      metadata: AWKWARD_OBJECT,
      extensions: [AWKWARD],
      referenceTaskIds: ["'; DROP TABLE tasks; --"],
    };
    const [id, contextId] = [`${c.name('task')} "🦭" '\u2028`, `${c.name('context')} "🦭" '\u2028`];
    const session = `${c.name('lane')} "🦭" '\u2028`;
    const call = { permission: AWKWARD, ancestors: [AWKWARD] };
    await c.admit({ id, contextId, session, message, metadata: AWKWARD_OBJECT, call });
    const run = await c.claimOne(me);
    expect(run).toMatchObject({ token: { taskId: id }, contextId, session });
    expect([run.message, run.metadata, run.call]).toEqual([message, AWKWARD_OBJECT, call]);

    const artifact: Artifact = { artifactId: AWKWARD, parts: message.parts, name: AWKWARD, metadata: AWKWARD_OBJECT };
    const reply: Message = { ...message, messageId: 'reply', role: 'ROLE_AGENT' };
    const added = { kind: 'artifact-added', artifact } as const;
    accepted(await c.tasks.remember(run.token, AWKWARD_OBJECT));
    accepted(await c.tasks.append(run.token, [added], c.later()));
    const ended = { kind: 'turn-ended', state: 'input-required', message: reply, metadata: { more: AWKWARD } } as const;
    accepted(await c.tasks.finish(run.token, [ended], c.later(), false));

    const task = await c.task(id);
    expect(snapshotOf(task)).toMatchObject({
      state: 'input-required',
      statusMessage: reply,
      artifacts: [artifact],
      history: [message, reply],
    });
    expect(JSON.parse(task.metadata)).toEqual({ ...AWKWARD_OBJECT, more: AWKWARD });
    const log = await c.log(id);
    expect(log.map(({ event }) => event).slice(2)).toEqual([added, ended]);
    expect(log[0]?.event).toMatchObject({ message });
    // Keys keep their order too: a client may have signed the text.
    expect(task.history).toBe(JSON.stringify([message, reply]));
    expect((await c.list({ contextId })).tasks).toEqual([task]);
    await c.tasks.leave(me);
    const [reaped] = await c.reap(await c.instance());
    expect(reaped?.run.ref).toEqual(AWKWARD_OBJECT);
  });
};
