import type { NewEvent } from '#domain';
import type { Admission, Admitted, Finished } from '#store';

import type { Corner } from './contract-corner.ts';
import {
  accepted,
  chunk,
  foldedUpTo,
  isRejected,
  kindsOf,
  progress,
  question,
  seqsOf,
  snapshotOf,
  turnEnded,
  webhook,
} from './contract-events.ts';
import type { Suite } from './suite.ts';

const END = turnEnded('completed', 'hi');
const whole = (text: string, artifactId = 'answer'): NewEvent => ({
  kind: 'artifact-added',
  artifact: { artifactId, parts: [{ text }] },
  lastChunk: true,
});

/** An admission with a slot and an answer. A store that leaves the answer out is told the end as ever. */
const answered = async (
  c: Corner,
  answer: readonly NewEvent[],
  over: Partial<Admission> = {},
): Promise<Admitted & { readonly finished: Finished }> => {
  const instance = await c.instance();
  const session = c.name('quick');
  const admitted = await c.admit({ session, slot: { instance }, answer, ...over });
  if (admitted.finished) return { ...admitted, finished: admitted.finished };
  if (!admitted.run) throw new Error('A turn with a slot and an idle lane did not start.');
  const finished = accepted(await c.tasks.finish(admitted.run.token, answer, c.later(), true));
  return { ...admitted, finished };
};

/** Texts of every length: short ones stay events, long ones are folded. */
const ANSWERS: Readonly<Record<string, readonly NewEvent[]>> = {
  'nothing but its end': [turnEnded('completed')],
  'an end with words': [END],
  'an artifact': [whole('hi'), END],
  'artifacts in pieces': [chunk('a'), chunk('b'), chunk('c', 'other'), END],
  'a status on its way': [progress('soon'), whole('hi'), END],
  'a question and work again': [question('what?'), progress('oh'), END],
  'a failure': [{ kind: 'turn-ended', state: 'failed', reason: 'agent', metadata: { a: 1 } }],
  'a long text': [whole('x'.repeat(10_000)), END],
  'a very long text': [whole('x'.repeat(300_000)), END],
};

export const describeAnswers = ({ it, expect }: Suite): void => {
  for (const [name, answer] of Object.entries(ANSWERS)) {
    it(`a turn that comes with ${name} has started and ended, and is read as any other`, async (c) => {
      const { task, events, run, finished } = await answered(c, answer, { metadata: { plan: 7 } });
      expect(kindsOf(events)).toEqual(['task-admitted', 'run-started']);
      expect(task).toMatchObject({ state: 'working', seq: 2 });
      expect(finished.events.map(({ event }) => event)).toEqual(answer);
      const log = await c.log(task.id);
      expect(log).toEqual([...events, ...finished.events]);
      expect(seqsOf(log)).toEqual(log.map((_, index) => index + 1));
      const found = await c.task(task.id);
      expect(found).toEqual(finished.task);
      expect(snapshotOf(found)).toEqual(foldedUpTo(log, log.length));
      expect((await c.list({ states: [found.state] })).tasks).toEqual([found]);
      expect((await c.list({ states: ['working', 'submitted'] })).tasks).toEqual([]);
      // Nobody holds it, and nothing of it is left in its lane.
      if (run === undefined) expect((await c.storage.lanes.list({ agent: c.agent, limit: 9 })).length).toBe(0);
    });
  }

  it('its lane goes on, and so does the next task of it', async (c) => {
    await answered(c, [END]);
    const { task } = await answered(c, [END]);
    expect((await c.task(task.id)).state).toBe('completed');
    const me = await c.instance();
    const { run } = await c.admit({ session: c.name('quick'), slot: { instance: me } });
    expect(run).not.toBe(undefined);
  });

  it('it has ended: no cancel, no follow-up, no take-over', async (c) => {
    const { task } = await answered(c, [END]);
    expect(await c.tasks.requestCancel(c.scope, task.id, 'somebody', c.later())).toMatchObject({ why: 'terminal' });
    expect(await c.follow(task.id)).toMatchObject({ why: 'terminal' });
    const heir = await c.instance('heir');
    expect(await c.reap(heir)).toEqual([]);
    expect(await c.claim(heir)).toEqual([]);
    expect(await c.log(task.id)).toHaveLength(3);
  });

  it('an answer changes nothing where the turn cannot start: without a slot, behind others, paused', async (c) => {
    const me = await c.instance();
    const session = c.name('busy');
    const waits = async (over: Partial<Admission>): Promise<void> => {
      const { task, events, run, finished } = await c.admit({ session, answer: [whole('hi'), END], ...over });
      expect([run, finished]).toEqual([undefined, undefined]);
      expect(kindsOf(events)).toEqual(['task-admitted']);
      expect(await c.task(task.id)).toMatchObject({ state: 'submitted', seq: 1 });
    };
    await waits({ session: c.name('no slot') });
    await c.start(me, { session });
    await waits({ slot: { instance: me } });
    await waits({ slot: { instance: me } });
    await c.storage.lanes.pauseAgent(c.agent, true, 'operator', c.later());
    await waits({ session: c.name('paused'), slot: { instance: me } });
    await c.storage.lanes.pauseAgent(c.agent, false, 'operator', c.later());
    expect((await c.claim(me, { free: 9 })).map(({ run }) => run.session).toSorted()).toEqual(
      [c.name('no slot'), c.name('paused')].toSorted(),
    );
  });

  it('an answer that does not end the task starts its turn, and is left out', async (c) => {
    const me = await c.instance();
    for (const answer of [[], [whole('hi')], [turnEnded('input-required')]]) {
      const { task, run, finished } = await c.admit({ session: c.name('open'), slot: { instance: me }, answer });
      expect(finished).toBe(undefined);
      expect(run).toMatchObject({ seq: 2 });
      expect(await c.log(task.id)).toHaveLength(2);
      if (run) await c.complete(run);
    }
  });

  it('an answer that the table of states forbids is an error, and leaves no task and no lane', async (c) => {
    const instance = await c.instance();
    const admission = c.admission({
      slot: { instance },
      answer: [question('what?'), { ...question('sign in'), state: 'auth-required' } as NewEvent, END],
    });
    const isWrong = await isRejected(c.tasks.admit(admission));
    if (!isWrong) return;
    expect(await c.tasks.find('all', admission.id)).toBe(undefined);
    expect((await c.storage.lanes.list({ agent: c.agent, limit: 9 })).length).toBe(0);
  });

  it('with an idempotency key it is found again, with its end', async (c) => {
    const idempotency = { key: c.name('key'), bodyHash: 'body' };
    const { task } = await answered(c, [whole('hi'), END], { idempotency });
    const repeated = await c.admit({ idempotency, slot: { instance: await c.instance() }, answer: [END] });
    expect(repeated).toEqual({ task: await c.task(task.id), events: [], again: true });
    expect(repeated.task).toMatchObject({ id: task.id, state: 'completed' });
  });

  it('its webhook is owed all of it', async (c) => {
    const { task } = await answered(c, [whole('hi'), END], { push: webhook('a') });
    const owed = (await c.storage.outbox.claim({ limit: 1000, leaseMs: 3_600_000 })).filter(
      ({ claim }) => claim.taskId === task.id,
    );
    expect(owed.map(({ firstSeq, lastSeq }) => [firstSeq, lastSeq])).toEqual([[1, 4]]);
  });

  it('of many at the same moment in one lane, every one is stored once: ended, or waiting for those before it', async (c) => {
    const me = await c.instance();
    const session = c.name('rush');
    const all = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        c.admit({ session, slot: { instance: me }, ...(index % 3 !== 2 && { answer: [whole(`${index}`), END] }) }),
      ),
    );
    for (const { task, finished, run } of all) {
      const found = await c.task(task.id);
      expect(found.state).toBe(finished ? 'completed' : run ? 'working' : 'submitted');
      expect(await c.log(task.id)).toHaveLength(found.seq);
    }
    expect(all.filter(({ run }) => run).length).toBeLessThan(2);
  });
};
