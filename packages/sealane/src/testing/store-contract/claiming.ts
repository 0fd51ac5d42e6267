import { accepted, kindsOf } from './contract-events.ts';
import type { Suite } from './suite.ts';

export const describeClaiming = ({ it, expect }: Suite): void => {
  it('takes at most `free[agent]` turns of each agent, and none of an agent that is not named', async (c) => {
    const me = await c.instance();
    const agents = ['x', 'y', 'z'].map(c.name);
    for (const agent of agents) {
      for (let n = 0; n < 4; n += 1) await c.admit({ agent, session: c.name(`${agent}-${n}`) });
    }
    const [x = '', y = '', z = ''] = agents;
    const free = { [x]: 3, [y]: 1, [c.name('nobody')]: 5 };
    const claimed = await c.tasks.claim({ instance: me, free, at: c.later(), ownerRunning: 0 });
    const count = (agent: string): number => claimed.filter(({ run }) => run.agent === agent).length;
    expect([count(x), count(y), count(z)]).toEqual([3, 1, 0]);
    expect(await c.tasks.claim({ instance: me, free: { [x]: 0 }, at: c.later(), ownerRunning: 0 })).toEqual([]);
    const rest = await c.tasks.claim({
      instance: me,
      free: { [x]: 9, [y]: 9, [z]: 9 },
      at: c.later(),
      ownerRunning: 0,
    });
    expect(rest).toHaveLength(8);
  });

  it('a claimed run knows everything about its turn, and its claim wrote `run-started`', async (c) => {
    const me = await c.instance();
    const call = { permission: 'guarded', traceparent: 'trace', ancestors: ['other.1'] };
    const admission = c.admission({ metadata: { deep: { list: [1, null] } }, call });
    accepted(await c.tasks.admit(admission));
    const at = c.later();
    const [claimed] = await c.claim(me, { at });
    expect(claimed?.run).toMatchObject({
      token: { taskId: admission.id },
      contextId: admission.contextId,
      owner: c.owner,
      tenant: c.tenant,
      agent: c.agent,
      session: admission.session,
      turn: 1,
      attempt: 1,
      message: admission.message,
      metadata: { deep: { list: [1, null] } },
      call,
      queuedAt: admission.at,
      startedAt: at,
      cancelRequested: false,
      ended: false,
      seq: 2,
    });
    expect(claimed?.run.ref).toBe(undefined);
    expect(claimed?.events).toEqual((await c.log(admission.id)).slice(1));
    expect(claimed?.events.map(({ event }) => event)).toEqual([{ kind: 'run-started', state: 'working', attempt: 1 }]);
    const task = await c.task(admission.id);
    expect(task.state).toBe('working');
    expect(task.queuePosition).toBe(undefined);
  });

  it('starts nothing in a paused lane; what runs there goes on', async (c) => {
    const me = await c.instance();
    const running = await c.start(me, { session: c.name('main') });
    await c.admit();
    await c.admit({ session: c.name('other') });
    await c.storage.lanes.pause(c.name('main'), true, 'operator', c.later());
    await c.append(running, { kind: 'status-reported', state: 'working' });
    await c.complete(running);
    const claimed = await c.claim(me, { free: 9 });
    expect(claimed.map(({ run }) => run.session)).toEqual([c.name('other')]);
    await c.storage.lanes.pause(c.name('main'), false, 'operator', c.later());
    expect((await c.claimOne(me)).session).toBe(c.name('main'));
  });

  it('starts nothing of a paused agent, in lanes that are there and in new ones', async (c) => {
    const me = await c.instance();
    await c.admit();
    await c.storage.lanes.pauseAgent(c.agent, true, 'operator', c.later());
    expect(await c.claim(me, { free: 9 })).toEqual([]);
    const { run } = await c.admit({ session: c.name('new'), slot: { instance: me } });
    expect(run).toBe(undefined);
    expect(await c.claim(me, { free: 9 })).toEqual([]);
    await c.storage.lanes.pauseAgent(c.agent, false, 'operator', c.later());
    expect(await c.claim(me, { free: 9 })).toHaveLength(2);
  });

  it('a turn that waits for its retry is not taken before its time', async (c) => {
    const me = await c.instance();
    const run = await c.start(me);
    const at = c.later();
    accepted(await c.tasks.release(run.token, at, at + 60_000));
    expect(await c.claim(me, { at: at + 59_999 })).toEqual([]);
    expect(await c.claim(me, { at: at + 60_000 })).toHaveLength(1);
  });

  it('an owner has at most `ownerRunning` held runs; 0 is no limit', async (c) => {
    const me = await c.instance();
    await c.start(me);
    for (const lane of ['a', 'b', 'c', 'd']) await c.admit({ session: c.name(lane) });
    const stranger = { owner: c.name('stranger'), session: c.name('strange') };
    await c.admit(stranger);
    const claimed = await c.claim(me, { free: 9, ownerRunning: 3 });
    const owners = claimed.map(({ run }) => run.owner).toSorted();
    expect(owners).toEqual([c.owner, c.owner, stranger.owner].toSorted());
    expect(await c.claim(me, { free: 9, ownerRunning: 3 })).toEqual([]);
    expect(await c.claim(me, { free: 9, ownerRunning: 4 })).toHaveLength(1);
    expect(await c.claim(me, { free: 9, ownerRunning: 0 })).toHaveLength(1);
  });

  it('the runs of all agents and instances count for the limit of their owner', async (c) => {
    const [me, other] = [await c.instance(), await c.instance()];
    await c.start(other, { agent: c.name('another') });
    await c.admit();
    expect(await c.claim(me, { ownerRunning: 1 })).toEqual([]);
    expect(await c.claim(me, { ownerRunning: 2 })).toHaveLength(1);
  });

  it('takes nothing for an instance without a lease', async (c) => {
    await c.admit();
    expect(await c.claim(c.name('nobody'))).toEqual([]);
    const expired = await c.instance();
    await c.expire(expired);
    expect(await c.claim(expired)).toEqual([]);
    const left = await c.instance();
    await c.tasks.leave(left);
    expect(await c.claim(left)).toEqual([]);
    expect(await c.claim(await c.instance())).toHaveLength(1);
  });

  it('instances that claim at the same moment share the turns: each is taken once', async (c) => {
    const instances = [await c.instance(), await c.instance(), await c.instance()];
    const ids: string[] = [];
    for (let n = 0; n < 30; n += 1) ids.push((await c.admit({ session: c.name(`lane-${n}`) })).task.id);
    const claim = (instance: string) => c.claim(instance, { free: 7 });
    const claims = [...(await Promise.all(instances.map(claim))), ...(await Promise.all(instances.map(claim)))];
    const taken = claims.flat().map(({ run }) => run.token.taskId);
    expect(new Set(taken).size).toBe(taken.length);
    const rest = await c.claim(instances[0] ?? '', { free: 30 });
    expect([...taken, ...rest.map(({ run }) => run.token.taskId)].toSorted()).toEqual(ids.toSorted());
    for (const id of ids) expect(kindsOf(await c.log(id))).toEqual(['task-admitted', 'run-started']);
  });
};
