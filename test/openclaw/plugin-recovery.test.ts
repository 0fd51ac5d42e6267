import { execFileSync } from 'node:child_process';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type A2aClient, answerOf, statusTextOf, type WireTask } from '../support/a2a-client.ts';
import { eventually } from '../support/eventually.ts';
import { openPluginWorld, type PluginWorld } from './plugin-world.ts';
import { openRawGateway } from './raw-gateway.ts';

let world: PluginWorld;
let client: A2aClient;
let peer: A2aClient;

beforeAll(async () => {
  world = await openPluginWorld();
  client = world.client;
  peer = await world.clientOf('peer', { permission: 'guarded' });
  await client.send('warm up', { contextId: 'early' });
});

afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

const stateOf = (task: WireTask): string => task.status.state;

const endOf = (caller: A2aClient, id: string): Promise<WireTask> =>
  eventually(async () => {
    const task = await caller.get(id);
    expect(stateOf(task)).toMatch(/COMPLETED|FAILED|CANCELED|REJECTED/);
    return task;
  }, 60_000);

const modelCalled = (text: string): Promise<void> =>
  eventually(() => expect(world.model.about(text)).not.toHaveLength(0), 30_000);

describe('settings that change while the Gateway runs', () => {
  it('are taken in; streams end, and are resumed where they were', async () => {
    await world.admin.post('/lanes/pause', { agent: 'main' });
    const stream = await client.stream('after-the-change');
    const first = await stream.next();
    await world.configure({ tasks: { timeoutMinutes: 0.05 } });
    expect(await stream.rest()).toEqual([]);
    const resumed = await client.subscribe(first?.task?.id ?? '', first?.id);
    await world.admin.post('/lanes/resume', { agent: 'main' });
    const events = await resumed.rest();
    expect(events[0]?.id).toBe((first?.id ?? 0) + 1);
    expect(events.at(-1)?.statusUpdate?.status.state).toBe('TASK_STATE_COMPLETED');
  });

  it('end a task that now works for too long, and really end its run', async () => {
    const task = await client.send('SLOW60 too-long');
    expect(stateOf(task)).toBe('TASK_STATE_FAILED');
    expect(statusTextOf(task)).toContain('timed out after 3 s');
    expect(world.model.about('too-long').map(({ aborted }) => aborted)).toEqual([true]);
    await world.configure({});
  });

  it('wait for nobody’s work to be cut off: OpenClaw refuses them while a run is at work', async () => {
    const task = await client.submit('SLOW3 keep-me');
    await modelCalled('keep-me');
    await expect(world.configure({ concurrency: 3 }, 5000)).rejects.toThrow('still has active retained work');
    expect(stateOf(await endOf(client, task.id))).toBe('TASK_STATE_COMPLETED');
  });
});

describe('a Gateway that is killed in mid-run', () => {
  it('leaves its tasks as interrupted, no tool process behind them, and goes on with nothing', async () => {
    using raw = await openRawGateway({
      url: world.gateway.url,
      token: world.gateway.token,
      scopes: ['operator.read', 'operator.write'],
    });
    // A session of OpenClaw itself, which it does take up again: when that is seen, ours would have been, too.
    void raw
      .agent({ message: 'SLOW20 of-openclaw', sessionKey: 'agent:main:control', idempotencyKey: 'control' })
      .catch(() => undefined);
    const [mine, theirs] = await Promise.all([
      client.submit('SLOW20 mine-killed', { contextId: 'killed' }),
      peer.submit('SLOW20 theirs-killed', { contextId: 'killed' }),
    ]);
    const seconds = 40_000 + Math.floor(Math.random() * 10_000);
    const tool = await client.submit(`TOOL:exec {"command":"sleep ${seconds}"}`);
    await Promise.all(['of-openclaw', 'mine-killed', 'theirs-killed'].map((text) => modelCalled(text)));
    await eventually(() => expect(processesOf(`sleep ${seconds}`)).not.toEqual([]), 30_000);
    await eventually(async () => expect(answerOf(await peer.get(theirs.id))).toContain('tick 1'));
    await world.gateway.kill();
    await world.start();
    const own = await Promise.all([endOf(client, mine.id), endOf(client, tool.id)]);
    const other = await endOf(peer, theirs.id);
    for (const task of [...own, other]) {
      expect(stateOf(task)).toBe('TASK_STATE_FAILED');
      expect(task.metadata).toMatchObject({ reason: 'interrupted' });
    }
    expect(answerOf(other)).toContain('tick 1');
    expect(processesOf(`sleep ${seconds}`)).toEqual([]);
    await eventually(
      () => expect(world.gateway.log()).toContain('interrupted main session: agent:main:control'),
      60_000,
    );
    await eventually(() => expect(world.gateway.log()).toContain('restart recovery startup complete'), 60_000);
    expect(world.model.about('-killed').map(({ aborted }) => aborted)).toEqual([true, true]);
  });

  it('still has all tasks, and the conversation goes on', async () => {
    const { tasks } = await client.list({ contextId: 'early', includeArtifacts: true });
    expect(tasks.map((task) => answerOf(task))).toEqual(['ECHO(turn 1): warm up']);
    expect(answerOf(await client.send('and now?', { contextId: 'early' }))).toBe('ECHO(turn 2): and now?');
  });
});

describe('a Gateway that is stopped', () => {
  it('lets a run end, and begins what had not begun when it is started again', async () => {
    const contextId = 'stopped';
    const first = await client.submit('SLOW4 stop-first', { contextId });
    const second = await client.submit('stop-second', { contextId });
    await modelCalled('stop-first');
    await world.gateway.stop();
    expect(world.model.about('stop-second')).toHaveLength(0);
    await world.start();
    expect(answerOf(await endOf(client, first.id))).toMatch(/ECHO\(turn 1\): SLOW4 stop-first$/);
    expect(answerOf(await endOf(client, second.id))).toBe('ECHO(turn 2): stop-second');
    expect(world.model.about('stop-')).toHaveLength(2);
  });
});

const processesOf = (command: string): readonly string[] =>
  execFileSync('ps', ['-eo', 'stat=,args='], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes(command) && !line.startsWith('Z') && !line.includes('ps -eo'));
