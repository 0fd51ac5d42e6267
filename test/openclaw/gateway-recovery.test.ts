import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { createOpenclawGatewayAgent } from '#agents/openclaw/gateway/openclaw-gateway-agent';

import { type A2aClient, answerOf, statusTextOf, type WireTask } from '../support/a2a-client.ts';
import { eventually } from '../support/eventually.ts';
import { freshFolder, serve } from '../support/served-process.ts';
import { hostSealane } from './hosted-sealane.ts';
import { type OpenclawWorld, openOpenclawWorld } from './openclaw-world.ts';

let world: OpenclawWorld;

beforeAll(async () => {
  world = await openOpenclawWorld();
  await using service = await world.service();
  await service.client.send('warm up');
});

afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

const connector = () => ({ url: world.gateway.url, token: world.gateway.token });

const saying = (client: A2aClient, { id }: WireTask, words: string): Promise<WireTask> =>
  eventually(async () => {
    const task = await client.get(id);
    expect(answerOf(task)).toContain(words);
    return task;
  }, 60_000);

const ended = (client: A2aClient, { id }: WireTask): Promise<WireTask> =>
  eventually(async () => {
    const task = await client.get(id);
    expect(task.status.state).toMatch(/COMPLETED|FAILED|CANCELED|REJECTED/);
    return task;
  }, 110_000);

const ticks = (count: number): string => Array.from({ length: count }, (_, n) => `tick ${n + 1} `).join('');

describe('Sealane, killed in the middle of a run and started again', () => {
  it('goes on with the run: the whole answer, once, from one call of the model', async () => {
    using folder = freshFolder();
    const config = { file: join(folder.path, 'tasks.db'), connector: connector() };
    const first = await hostSealane(config);
    const task = await first.client.submit('SLOW12 go-on');
    await saying(first.client, task, 'tick 4');
    await first.kill();
    await using second = await hostSealane(config);
    const done = await ended(second.client, task);
    expect(done.status.state).toBe('TASK_STATE_COMPLETED');
    expect(answerOf(done)).toBe(`${ticks(48)}ECHO(turn 1): SLOW12 go-on`);
    expect(statusTextOf(done)).toBe(answerOf(done));
    expect(world.model.about('go-on')).toHaveLength(1);
    expect(done.metadata).toMatchObject({ openclaw: { model: 'echo', usage: { input: 11, output: 7 } } });
  });

  it('takes the answer of a run that ended meanwhile, tool call and all', async () => {
    using folder = freshFolder();
    const config = { file: join(folder.path, 'tasks.db'), connector: connector() };
    const first = await hostSealane(config);
    const task = await first.client.submit('SLOW3 ended-meanwhile\nTOOL:ls {"path":"."}');
    await saying(first.client, task, 'tick 2');
    await first.kill();
    await eventually(
      () => expect(world.model.about('ended-meanwhile').filter((call) => call.ended)).toHaveLength(2),
      30_000,
    );
    await using second = await hostSealane(config);
    const done = await ended(second.client, task);
    expect(done.status.state).toBe('TASK_STATE_COMPLETED');
    expect(answerOf(done)).toMatch(new RegExp(`^${ticks(12).trim()}\\n\\nRESULTS: `));
    expect(world.model.about('ended-meanwhile')).toHaveLength(2);
  });

  it('can stop a run that another instance began', async () => {
    using folder = freshFolder();
    const first = await hostSealane({ file: join(folder.path, 'tasks.db'), connector: connector() });
    const task = await first.client.submit('SLOW60 stop-me');
    await saying(first.client, task, 'tick 2');
    await first.kill();
    const other = createOpenclawGatewayAgent(connector());
    const scope = { agent: 'main', tenant: '', owner: 'admin', contextId: task.contextId };
    const ref = { runId: `${task.id}.1.1`, sessionKey: other.session(scope), bootId: 'unknown' };
    expect(await other.stop(ref, AbortSignal.timeout(30_000))).toBe('dead');
    expect(world.model.about('stop-me').map(({ aborted }) => aborted)).toEqual([true]);
    await other.close();
  });
});

describe('Sealane, stopped in the middle of a run and started again', () => {
  it('lets go of the run and takes it up again: the whole answer, once, from one call of the model', async () => {
    using folder = freshFolder();
    const { url, token } = connector();
    const config = `agents: { main: { connector: openclaw, via: gateway, url: "${url}", token: "${token}", default: true } }\n`;
    await using first = await serve(folder.path, { config });
    const task = await first.client.submit('SLOW25 let-go');
    await saying(first.client, task, 'tick 2');
    expect(await first.stop()).toBe(0);
    expect(world.model.about('let-go').map(({ aborted, ended }) => ({ aborted, ended }))).toEqual([
      { aborted: false, ended: false },
    ]);
    await using second = await serve(folder.path);
    const done = await ended(second.client, task);
    expect(done.status.state, statusTextOf(done)).toBe('TASK_STATE_COMPLETED');
    expect(answerOf(done)).toBe(`${ticks(100)}ECHO(turn 1): SLOW25 let-go`);
    expect(world.model.about('let-go')).toHaveLength(1);
  });
});

describe('the Gateway, killed in the middle of a run and started again', () => {
  it('resumes the run under another id, and the task gets its answer once', async () => {
    await using service = await world.service();
    const task = await service.client.submit('SLOW6 crash-once');
    await saying(service.client, task, 'tick 6');
    await world.gateway.kill();
    await eventually(async () =>
      expect(statusTextOf(await service.client.get(task.id))).toContain('The task waits for it'),
    );
    await world.gateway.start();
    const done = await ended(service.client, task);
    expect(done.status.state, statusTextOf(done)).toBe('TASK_STATE_COMPLETED');
    const answer = answerOf(done);
    expect(answer).toContain('crash-once');
    expect(answer.match(/tick 1 /g)).toHaveLength(1);
    expect(answer.match(/ECHO/g)).toHaveLength(1);
    expect(statusTextOf(done)).toBe(answer);
    expect(world.model.about('crash-once').map(({ aborted }) => aborted)).toEqual([true, false]);
  });

  it('gives the resumed run of a remote key no more rights than before', async () => {
    await using service = await world.service();
    const client = await service.clientOf('peer', { permission: 'guarded' });
    const place = join(world.gateway.home, 'made-after-crash');
    const touch = `TOOL:exec ${JSON.stringify({ command: `touch ${place}` })}`;
    const message = { action: 'send', channel: 'a2a', target: 'somebody', message: 'hello' };
    const send = `TOOL:tool_call ${JSON.stringify({ id: 'message', args: message })}`;
    const task = await client.submit(`SLOW5 crash-peer\n${touch}\n${send}\n.`);
    await saying(client, task, 'tick 4');
    await world.gateway.kill();
    await world.gateway.start();
    const done = await ended(client, task);
    expect(done.status.state, statusTextOf(done)).toBe('TASK_STATE_COMPLETED');
    expect(answerOf(done)).toContain('Go on with it');
    expect(existsSync(place)).toBe(false);
    // What OpenClaw resumed by itself had the message tool again, so it was ended before it could use it.
    expect(world.model.about('crash-peer').flatMap((call) => call.toolResults)).toEqual([]);
  });

  it('answers what was asked while it was down', async () => {
    await using service = await world.service();
    await service.client.send('before');
    await world.gateway.kill();
    const task = await service.client.submit('asked-while-down');
    await eventually(async () =>
      expect(statusTextOf(await service.client.get(task.id))).toContain('The task waits for it'),
    );
    await world.gateway.start();
    const done = await ended(service.client, task);
    expect(answerOf(done), statusTextOf(done)).toBe('ECHO(turn 1): asked-while-down');
    expect(world.model.about('asked-while-down')).toHaveLength(1);
  });

  it('does not resume what was canceled while it was down', async () => {
    await using service = await world.service({ sealane: { settings: { cancelGraceMs: 90_000 } } });
    const task = await service.client.submit('SLOW30 cancel-while-down');
    await saying(service.client, task, 'tick 4');
    await world.gateway.kill();
    const canceling = service.client.cancel(task.id);
    await world.gateway.start();
    expect((await canceling).status.state).toBe('TASK_STATE_CANCELED');
    expect(world.model.about('cancel-while-down').every((call) => call.aborted)).toBe(true);
  });
});
