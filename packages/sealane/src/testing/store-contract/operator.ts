import { accepted } from './contract-events.ts';
import type { Suite } from './suite.ts';

export const describeOperator = ({ it, expect }: Suite): void => {
  it('lists lanes with something in them, by key, with what waits there, since when, and what runs', async (c) => {
    const me = await c.instance();
    const running = await c.start(me, { session: c.name('lane-b') });
    const since = c.later();
    await c.admit({ session: c.name('lane-a'), at: since });
    await c.admit({ session: c.name('lane-a') });
    const busy = await c.start(me, { session: c.name('lane-c'), owner: c.name('other') });
    const queued = c.later();
    await c.admit({ session: c.name('lane-c'), owner: c.name('other'), at: queued });
    const [a, b, third] = await c.storage.lanes.list({ agent: c.agent, limit: 9 });
    const common = { agent: c.agent, owner: c.owner, paused: false };
    expect(a).toEqual({ ...common, key: c.name('lane-a'), waiting: 2, running: null, since });
    const quiet = { waiting: 0, running: running.token.taskId, since: null };
    expect(b).toEqual({ ...common, key: c.name('lane-b'), ...quiet });
    const owned = { owner: c.name('other'), waiting: 1, running: busy.token.taskId, since: queued };
    expect(third).toMatchObject({ key: c.name('lane-c'), ...owned });
  });

  it('lists lanes by agent and by owner, in pages', async (c) => {
    const [x, y] = [c.name('x'), c.name('y')];
    for (const [n, owner] of [x, y, x, y].entries()) await c.admit({ owner, session: c.name(`lane-${n}`) });
    await c.admit({ agent: c.name('another'), owner: x, session: c.name('lane-9') });
    const keys = async (query: { agent?: string; owner?: string; limit?: number; after?: string }) =>
      (await c.storage.lanes.list({ limit: 9, ...query })).map(({ key }) => key);
    const names = (...numbers: readonly number[]) => numbers.map((n) => c.name(`lane-${n}`));
    expect(await keys({ owner: x })).toEqual(names(0, 2, 9));
    expect(await keys({ owner: x, agent: c.agent })).toEqual(names(0, 2));
    expect(await keys({ agent: c.agent, limit: 3 })).toEqual(names(0, 1, 2));
    expect(await keys({ agent: c.agent, limit: 3, after: c.name('lane-2') })).toEqual(names(3));
    expect(await keys({ agent: c.agent, after: c.name('lane-3') })).toEqual([]);
  });

  it('a paused lane stays listed when it has emptied, and is gone when it is resumed', async (c) => {
    const me = await c.instance();
    const lane = c.name('main');
    const run = await c.start(me, { session: lane });
    expect(await c.storage.lanes.pause(lane, true, 'operator', c.later())).toBe(true);
    await c.complete(run);
    expect(await c.storage.lanes.list({ agent: c.agent, limit: 9 })).toEqual([
      { key: lane, agent: c.agent, owner: c.owner, waiting: 0, running: null, paused: true, since: null },
    ]);
    expect(await c.storage.lanes.pause(lane, false, 'operator', c.later())).toBe(true);
    expect(await c.storage.lanes.list({ agent: c.agent, limit: 9 })).toEqual([]);
  });

  it('a lane may be paused and resumed at any moment: nothing is lost, nothing starts twice', async (c) => {
    const me = await c.instance();
    const lane = c.name('main');
    const { task: first } = await c.admit();
    await c.storage.lanes.pause(lane, true, 'operator', c.later());
    await c.storage.lanes.pause(lane, true, 'operator', c.later());
    const { task: second } = await c.admit();
    await c.storage.lanes.pause(lane, false, 'operator', c.later());
    const run = await c.claimOne(me);
    expect(run.token.taskId).toBe(first.id);
    await c.storage.lanes.pause(lane, true, 'operator', c.later());
    await c.storage.lanes.pause(lane, false, 'operator', c.later());
    expect(await c.claim(me)).toEqual([]);
    await c.complete(run);
    await c.storage.lanes.pause(lane, true, 'operator', c.later());
    accepted(await c.tasks.requestCancel(c.scope, second.id, 'somebody', c.later()));
    const { task: third } = await c.admit();
    await c.storage.lanes.pause(lane, false, 'operator', c.later());
    expect((await c.claimOne(me)).token.taskId).toBe(third.id);
  });

  it('false: no such lane; and then nothing is recorded', async (c) => {
    expect(await c.storage.lanes.pause(c.name('nowhere'), true, 'operator', c.later())).toBe(false);
    expect(await c.storage.audit.list({ subject: c.name('nowhere'), limit: 9 })).toEqual([]);
  });

  it('who paused and resumed a lane is recorded in the audit', async (c) => {
    await c.admit();
    const lane = c.name('main');
    const [paused, resumed] = [c.later(), c.later()];
    await c.storage.lanes.pause(lane, true, 'alice', paused);
    await c.storage.lanes.pause(lane, false, 'bob', resumed);
    expect(await c.storage.audit.list({ subject: lane, limit: 9 })).toEqual([
      { at: resumed, kind: 'lane-resumed', actor: 'bob', subject: lane, facts: {} },
      { at: paused, kind: 'lane-paused', actor: 'alice', subject: lane, facts: {} },
    ]);
  });

  it('agents are paused and resumed by name, and that is recorded in the audit', async (c) => {
    const { lanes, audit } = c.storage;
    const own = async () => (await lanes.pausedAgents()).filter((agent) => agent === c.agent);
    expect(await own()).toEqual([]);
    const at = c.later();
    await lanes.pauseAgent(c.agent, true, 'alice', at);
    await lanes.pauseAgent(c.agent, true, 'alice', at);
    expect(await own()).toEqual([c.agent]);
    await lanes.pauseAgent(c.agent, false, 'bob', at);
    expect(await own()).toEqual([]);
    const kinds = (await audit.list({ subject: c.agent, limit: 9 })).map(({ kind, actor }) => `${kind} by ${actor}`);
    expect(kinds.at(0)).toBe('agent-resumed by bob');
    expect(kinds.at(-1)).toBe('agent-paused by alice');
  });
};
