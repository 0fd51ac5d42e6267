import { accepted, refusal } from './contract-events.ts';
import type { Suite } from './suite.ts';

export const describeIdempotency = ({ it, expect }: Suite): void => {
  it('the same key and body attach to the first task, and nothing is written', async (c) => {
    const me = await c.instance();
    const idempotency = { key: c.name('key'), bodyHash: 'body' };
    const first = await c.admit({ idempotency });
    const second = accepted(await c.tasks.admit(c.admission({ idempotency, slot: { instance: me } })));
    expect(second).toEqual({ task: first.task, events: [], again: true });
    expect((await c.list()).total).toBe(1);
    expect(await c.storage.lanes.list({ agent: c.agent, limit: 9 })).toMatchObject([{ waiting: 1, running: null }]);
  });

  it('the key attaches to the task as it is now, also when it has ended', async (c) => {
    const me = await c.instance();
    const idempotency = { key: c.name('key'), bodyHash: 'body' };
    const run = await c.start(me, { idempotency });
    await c.complete(run);
    const { task, again } = await c.admit({ idempotency });
    expect(again).toBe(true);
    expect(task).toEqual(await c.task(run.token.taskId));
    expect(task.state).toBe('completed');
  });

  it('`conflict`: the key was used with another body; nothing is written', async (c) => {
    const key = c.name('key');
    const { task } = await c.admit({ idempotency: { key, bodyHash: 'body' } });
    const other = c.admission({ idempotency: { key, bodyHash: 'another' }, session: c.name('other') });
    expect(refusal(await c.tasks.admit(other))).toBe('conflict');
    expect(await c.tasks.find('all', other.id)).toBe(undefined);
    expect(await c.task(task.id)).toEqual(task);
    expect(await c.storage.lanes.list({ agent: c.agent, limit: 9 })).toHaveLength(1);
  });

  it('a key belongs to its owner', async (c) => {
    const idempotency = { key: c.name('key'), bodyHash: 'body' };
    const first = await c.admit({ idempotency });
    const second = await c.admit({ idempotency, owner: c.name('stranger'), session: c.name('strange') });
    expect(second.again).toBe(false);
    expect(second.task.id).not.toBe(first.task.id);
  });

  it('of callers that come with one key at the same moment, one makes the task and all get it', async (c) => {
    const idempotency = { key: c.name('key'), bodyHash: 'body' };
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) => c.admit({ idempotency, session: c.name(`lane-${n}`) })),
    );
    expect(answers.filter(({ again }) => !again)).toHaveLength(1);
    expect(new Set(answers.map(({ task }) => task.id)).size).toBe(1);
    expect((await c.list()).total).toBe(1);
    expect(await c.storage.lanes.list({ agent: c.agent, limit: 9 })).toHaveLength(1);
  });

  it('a removed task gives its key back', async (c) => {
    const idempotency = { key: c.name('key'), bodyHash: 'body' };
    const { task } = await c.admit({ idempotency });
    accepted(await c.tasks.remove(c.scope, task.id, c.later()));
    const { again } = await c.admit({ idempotency: { ...idempotency, bodyHash: 'another' } });
    expect(again).toBe(false);
  });
};
