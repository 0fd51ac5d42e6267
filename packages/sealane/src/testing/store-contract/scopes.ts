import type { Scope } from '#store';

import { accepted, idsOf, refusal } from './contract-events.ts';
import type { Suite } from './suite.ts';

export const describeScopes = ({ it, expect }: Suite): void => {
  it('nothing of one scope is visible in another: a foreign task is `absent`', async (c) => {
    const me = await c.instance();
    const own: Scope = { owner: c.owner, tenant: 't1', agent: c.agent };
    const id = await c.interrupted(me, { tenant: 't1' });
    const before = await c.task(id);
    const foreign: readonly Scope[] = [
      { owner: c.name('stranger'), tenant: 't1' },
      { owner: c.owner, tenant: 't2' },
      { owner: c.owner, tenant: '' },
      { owner: c.owner, tenant: 't1', agent: c.name('another') },
      { owner: c.owner.toUpperCase(), tenant: 't1' },
      { owner: '', tenant: 't1' },
      { owner: '%', tenant: '%' },
    ];
    for (const scope of foreign) {
      expect(await c.tasks.find(scope, id)).toBe(undefined);
      expect(await c.tasks.peek(scope, id)).toBe(undefined);
      expect(await c.tasks.read(scope, id, 0, 9)).toEqual([]);
      expect(await c.list({ contextId: before.contextId }, scope)).toEqual({ tasks: [], total: 0 });
      expect(await c.follow(id, { scope })).toEqual({ ok: false, why: 'absent' });
      expect(await c.tasks.requestCancel(scope, id, 'stranger', c.later())).toEqual({ ok: false, why: 'absent' });
      expect(await c.tasks.remove(scope, id, c.later())).toEqual({ ok: false, why: 'absent' });
    }
    expect(await c.task(id)).toEqual(before);
    for (const scope of [own, { owner: c.owner, tenant: 't1' }, 'all'] as const) {
      expect(await c.tasks.find(scope, id)).toEqual(before);
      expect(await c.tasks.read(scope, id, 0, 9)).toHaveLength(3);
      expect(idsOf((await c.list({ contextId: before.contextId }, scope)).tasks)).toEqual([id]);
    }
    expect(refusal(await c.follow(id, { scope: own }))).toBe('accepted');
    // Not even what is left of it for a moment after its removal.
    accepted(await c.tasks.remove(own, id, c.later()));
    for (const scope of foreign) expect(await c.tasks.read(scope, id, 0, 9)).toEqual([]);
    expect(await c.tasks.read(own, id, 0, 9)).toHaveLength(5);
  });

  it('filters narrow a scope and never leave it', async (c) => {
    const stranger = c.name('stranger');
    const other = c.name('other-agent');
    await c.admit();
    await c.admit({ owner: stranger, session: c.name('strange') });
    await c.admit({ agent: other, session: c.name('other') });
    for (const order of ['updated', 'inserted'] as const) {
      expect((await c.list({ order, owner: stranger })).total).toBe(0);
      expect((await c.list({ order, agent: other }, { ...c.scope, agent: c.agent })).total).toBe(0);
      expect((await c.list({ order, owner: c.owner, agent: other }, { ...c.scope, agent: other })).total).toBe(1);
    }
  });

  it('a cursor of one scope shows nothing of it in another', async (c) => {
    const stranger = { owner: c.name('stranger'), tenant: c.tenant };
    for (let n = 0; n < 4; n += 1) await c.admit({ session: c.name(`lane-${n}`) });
    await c.admit({ owner: stranger.owner, session: c.name('strange') });
    for (const order of ['updated', 'inserted'] as const) {
      const { next = '' } = await c.list({ order, limit: 1 });
      const { tasks } = await c.list({ order, limit: 9, after: next }, stranger);
      expect(tasks.filter((task) => task.owner !== stranger.owner)).toEqual([]);
    }
  });

  it('a put never touches a task of another owner or tenant', async (c) => {
    const { task } = await c.admit({ tenant: 't1' });
    accepted(await c.tasks.requestCancel('all', task.id, 'somebody', c.later()));
    const before = await c.task(task.id);
    const snapshot = {
      state: 'canceled',
      statusAt: before.statusAt,
      artifacts: [],
      history: [],
      metadata: {},
    } as const;
    const put = { id: task.id, contextId: 'x', owner: c.owner, tenant: 't1', agent: c.agent, snapshot, at: c.later() };
    for (const mode of ['replace', 'upsert'] as const) {
      expect(refusal(await c.tasks.put({ ...put, mode, owner: c.name('stranger') }))).toBe('absent');
      expect(refusal(await c.tasks.put({ ...put, mode, tenant: 't2' }))).toBe('absent');
    }
    expect(await c.task(task.id)).toEqual(before);
  });
};
