import type { TaskSnapshot } from '#domain';
import type { PutTask } from '#store';

import type { Corner } from './contract-corner.ts';
import { accepted, agentMessage, foldedUpTo, idsOf, kindsOf, refusal, snapshotOf } from './contract-events.ts';
import type { Suite } from './suite.ts';

const snapshot = (c: Corner, over: Partial<TaskSnapshot> = {}): TaskSnapshot => ({
  state: 'working',
  statusMessage: agentMessage('so far'),
  statusAt: new Date(c.later()).toISOString(),
  artifacts: [{ artifactId: 'a', parts: [{ text: 'one' }] }],
  history: [c.message()],
  metadata: { from: 'a view' },
  ...over,
});

const request = (c: Corner, over: Partial<PutTask> = {}): PutTask => ({
  id: c.name('task'),
  contextId: c.name('context'),
  owner: c.owner,
  tenant: c.tenant,
  agent: c.agent,
  snapshot: snapshot(c),
  at: c.later(),
  mode: 'upsert',
  ...over,
});

export const describePutting = ({ it, expect }: Suite): void => {
  it('writes a whole task as one event', async (c) => {
    for (const mode of ['create', 'upsert'] as const) {
      const put = request(c, { mode, id: c.name(mode) });
      const task = accepted(await c.tasks.put(put));
      expect(task).toMatchObject({ id: put.id, contextId: put.contextId, owner: c.owner, agent: c.agent, seq: 1 });
      expect(snapshotOf(task)).toEqual(put.snapshot);
      const log = await c.log(put.id);
      expect(log.map(({ event }) => event)).toEqual([{ kind: 'task-put', state: 'working', snapshot: put.snapshot }]);
      expect(await c.task(put.id)).toEqual(task);
      expect(idsOf((await c.list()).tasks)).toContain(put.id);
    }
  });

  it('create: only when absent. replace: only when present. upsert: either', async (c) => {
    expect(refusal(await c.tasks.put(request(c, { mode: 'replace' })))).toBe('absent');
    expect(await c.log(c.name('task'))).toEqual([]);
    expect(refusal(await c.tasks.put(request(c, { mode: 'create' })))).toBe('accepted');
    expect(refusal(await c.tasks.put(request(c, { mode: 'create' })))).toBe('conflict');
    expect(refusal(await c.tasks.put(request(c, { mode: 'replace' })))).toBe('accepted');
    expect(refusal(await c.tasks.put(request(c, { mode: 'upsert' })))).toBe('accepted');
    expect(kindsOf(await c.log(c.name('task')))).toEqual(['task-put', 'task-put', 'task-put']);
  });

  it('`conflict`: who names the number of what was seen last writes nothing over what has happened since', async (c) => {
    const { seq } = accepted(await c.tasks.put(request(c)));
    expect(refusal(await c.tasks.put(request(c, { seenSeq: seq })))).toBe('accepted');
    expect(refusal(await c.tasks.put(request(c, { seenSeq: seq })))).toBe('conflict');
    expect(kindsOf(await c.log(c.name('task')))).toEqual(['task-put', 'task-put']);
  });

  it('a put replaces everything that events can change, and the context', async (c) => {
    const created = accepted(await c.tasks.put(request(c)));
    const { statusMessage: _, ...silent } = snapshot(c, { state: 'input-required', artifacts: [], metadata: {} });
    const put = request(c, { contextId: c.name('moved'), snapshot: silent });
    const task = accepted(await c.tasks.put(put));
    expect(snapshotOf(task)).toEqual(silent);
    expect(task).toMatchObject({ contextId: put.contextId, createdAt: created.createdAt, seq: 2 });
    expect(task.updatedAt).toBe(new Date(put.at).toISOString());
    expect(snapshotOf(task)).toEqual(foldedUpTo(await c.log(task.id), 2));
    expect(idsOf((await c.list({ contextId: put.contextId })).tasks)).toEqual([task.id]);
    expect((await c.list({ contextId: created.contextId })).total).toBe(0);
  });

  it('`busy`: a task with a waiting or running turn is not written', async (c) => {
    const me = await c.instance();
    const { task } = await c.admit();
    expect(refusal(await c.tasks.put(request(c, { id: task.id })))).toBe('busy');
    const run = await c.claimOne(me);
    expect(refusal(await c.tasks.put(request(c, { id: task.id })))).toBe('busy');
    await c.complete(run, false);
    const same = request(c, { id: task.id, snapshot: snapshot(c, { state: 'completed' }) });
    expect(refusal(await c.tasks.put(same))).toBe('busy');
    expect(kindsOf(await c.log(task.id))).toEqual(['task-admitted', 'run-started', 'turn-ended']);
  });

  it('`terminal`: an ended task may be corrected, and is never brought back', async (c) => {
    const done = request(c, { snapshot: snapshot(c, { state: 'completed' }) });
    accepted(await c.tasks.put(done));
    for (const state of ['working', 'input-required', 'failed'] as const) {
      expect(refusal(await c.tasks.put(request(c, { snapshot: snapshot(c, { state }) })))).toBe('terminal');
    }
    const corrected = snapshot(c, { state: 'completed', metadata: { corrected: true } });
    const task = accepted(await c.tasks.put(request(c, { snapshot: corrected })));
    expect(snapshotOf(task)).toEqual(corrected);
    expect(refusal(await c.follow(task.id))).toBe('terminal');
    expect(refusal(await c.tasks.requestCancel(c.scope, task.id, 'somebody', c.later()))).toBe('terminal');
  });

  it('a task that was put can be followed up, canceled and removed like any other', async (c) => {
    const me = await c.instance();
    const asking = request(c, { snapshot: snapshot(c, { state: 'input-required' }) });
    accepted(await c.tasks.put(asking));
    const { run } = accepted(await c.follow(asking.id, { slot: { instance: me } }));
    expect(run).toMatchObject({ token: { taskId: asking.id }, turn: 1, metadata: { from: 'a view' } });
    if (run) await c.complete(run);
    expect(kindsOf(await c.log(asking.id))).toEqual(['task-put', 'message-received', 'run-started', 'turn-ended']);

    const working = request(c, { id: c.name('working') });
    accepted(await c.tasks.put(working));
    expect(accepted(await c.tasks.requestCancel(c.scope, working.id, 'somebody', c.later())).outcome).toBe('ended');
    expect(refusal(await c.tasks.remove(c.scope, working.id, c.later()))).toBe('accepted');
  });
};
