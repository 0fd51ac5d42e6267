import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { createOpenclawGatewayAgent } from '#agents/openclaw/gateway/openclaw-gateway-agent';

import { answerOf, statusTextOf, type WireTask } from '../support/a2a-client.ts';
import { eventually } from '../support/eventually.ts';
import type { TestService } from '../support/service.ts';
import { OPENCLAW_VERSION } from './installed-openclaw.ts';
import { type OpenclawWorld, openOpenclawWorld } from './openclaw-world.ts';

let world: OpenclawWorld;
let service: TestService;

beforeAll(async () => {
  world = await openOpenclawWorld();
  service = await world.service();
  // The first turn of a Gateway loads what the others then have.
  await service.client.send('warm up');
});

afterAll(async () => {
  await service?.close();
  await world?.[Symbol.asyncDispose]();
});

const stateOf = (task: WireTask): string => task.status.state;

describe('a turn on the Gateway', () => {
  it('answers with the whole text, the model and the usage', async () => {
    const task = await service.client.send('hello');
    expect(stateOf(task)).toBe('TASK_STATE_COMPLETED');
    expect(answerOf(task)).toBe('ECHO(turn 1): hello');
    expect(statusTextOf(task)).toBe('ECHO(turn 1): hello');
    expect(task.metadata).toMatchObject({
      openclaw: { provider: 'fake', model: 'echo', usage: { input: 11, output: 7 } },
    });
  });

  it('streams the text in chunks that add up to the answer, each once', async () => {
    const events = await (await service.client.stream('SLOW2 count')).rest();
    const chunks = events.flatMap(({ artifactUpdate }) => (artifactUpdate ? [artifactUpdate] : []));
    const text = chunks.flatMap(({ artifact }) => artifact.parts.map((part) => part.text ?? '')).join('');
    expect(text).toBe('tick 1 tick 2 tick 3 tick 4 tick 5 tick 6 tick 7 tick 8 ECHO(turn 1): SLOW2 count');
    expect(chunks.length).toBeGreaterThan(4);
    expect(chunks.slice(1).every(({ append }) => append === true)).toBe(true);
    expect(chunks.at(-1)?.lastChunk).toBe(true);
    expect(events.at(-1)?.statusUpdate?.status.state).toBe('TASK_STATE_COMPLETED');
  });

  it('keeps text before and after a tool call, and names the tool to the owner without its arguments', async () => {
    const events = await (await service.client.stream('SLOW1 look\nTOOL:ls {"path":"."}')).rest();
    const task = await service.client.get(events[0]?.task?.id ?? '');
    expect(answerOf(task)).toMatch(/^tick 1 tick 2 tick 3 tick 4\n\nRESULTS: /);
    const words = events.flatMap(
      ({ statusUpdate }) => statusUpdate?.status.message?.parts.map(({ text }) => text) ?? [],
    );
    expect(words).toContain('Using ls');
    expect(JSON.stringify(events.flatMap(({ statusUpdate }) => statusUpdate ?? []))).not.toContain('"path"');
  });

  it('keeps what is said in the same breath as a tool call, which OpenClaw tells in another way', async () => {
    const task = await service.client.send('SAY:Looking.\nTOOL:ls {"path":"."}\nTOOL:ls {"path":"."}');
    expect(answerOf(task)).toMatch(/^Looking\.\n\nLooking\.\n\nRESULTS: /);
  });

  it('shows remote callers nothing of its tools', async () => {
    const peer = await service.clientOf('peer-tools', { permission: 'guarded' });
    const events = await (await peer.stream('TOOL:ls {"path":"."}')).rest();
    expect(events.at(-1)?.statusUpdate?.status.state).toBe('TASK_STATE_COMPLETED');
    expect(JSON.stringify(events.flatMap(({ statusUpdate }) => statusUpdate ?? []))).not.toContain('Using');
  });

  it('remembers its conversation by the context, and tells contexts apart that differ only in case', async () => {
    const contextId = `Case-${randomUUID()}`;
    await service.client.send('one', { contextId });
    expect(answerOf(await service.client.send('two', { contextId }))).toBe('ECHO(turn 2): two');
    expect(answerOf(await service.client.send('other', { contextId: contextId.toLowerCase() }))).toBe(
      'ECHO(turn 1): other',
    );
  });

  it('gives two owners of the same context two conversations', async () => {
    const contextId = randomUUID();
    const peer = await service.clientOf('peer-b', { permission: 'guarded' });
    await service.client.send('mine', { contextId });
    expect(answerOf(await peer.send('theirs', { contextId }))).toBe('ECHO(turn 1): theirs');
  });

  it('sends a link to a file as a file', async () => {
    const task = await service.client.send('a picture\nMEDIA:https://files.example/cat.png');
    expect(answerOf(task)).toBe('Here it is.');
    expect(task.artifacts?.[0]?.parts).toContainEqual({
      url: 'https://files.example/cat.png',
      mediaType: 'image/png',
      filename: 'cat.png',
    });
  });

  it('sends a file of the workspace, and no other of its machine', async () => {
    writeFileSync(join(world.gateway.workspace, 'note.txt'), 'from the workspace');
    writeFileSync(join(world.gateway.home, 'secret.txt'), 'top secret words');
    const raw = Buffer.from('from the workspace').toString('base64');
    for (const place of ['./note.txt', join(world.gateway.workspace, 'note.txt')]) {
      const task = await service.client.send(`a file\nMEDIA:${place}`);
      const file = task.artifacts?.[0]?.parts.find((part) => part.raw !== undefined);
      expect(file).toMatchObject({
        raw,
        filename: 'note.txt',
        mediaType: expect.stringContaining('text/plain') as string,
      });
    }
    const outside = join(world.gateway.home, 'secret.txt');
    for (const place of [
      outside,
      `file://${outside}`,
      '../secret.txt',
      join(world.gateway.workspace, '../secret.txt'),
    ]) {
      const task = await service.client.send(`a file\nMEDIA:${place}`);
      expect(task.artifacts?.[0]?.parts.filter((part) => part.raw !== undefined || part.url !== undefined)).toEqual([]);
      expect(JSON.stringify(task)).not.toContain(Buffer.from('top secret').toString('base64').slice(0, 8));
    }
    const told = await service.client.send(`a file\nMEDIA:${outside}`);
    expect(told.metadata).toMatchObject({ openclaw: { filesNotSent: ['secret.txt'] } });
  });

  it('hands images, data and text files on, and refuses what OpenClaw cannot read', async () => {
    const raw = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const image = { raw, mediaType: 'image/png', filename: 'dot.png' };
    const note = {
      raw: Buffer.from('remember the milk').toString('base64'),
      mediaType: 'text/plain',
      filename: 'note.txt',
    };
    const seen = await service.client.send('', { parts: [{ text: 'see-it' }, image, { data: { answer: 42 } }, note] });
    expect(answerOf(seen)).toMatch(/"answer": 42[\s\S]*note\.txt[\s\S]*remember the milk/);
    expect(world.model.about('see-it').at(-1)?.attachments).toBe(1);
    const zip = { raw, mediaType: 'application/zip', filename: 'all.zip' };
    const refused = await service.client.send('', { parts: [{ text: 'unpack-it' }, zip] });
    expect(stateOf(refused)).toBe('TASK_STATE_REJECTED');
    expect(statusTextOf(refused)).toContain('all.zip is application/zip');
    expect(world.model.about('unpack-it')).toHaveLength(0);
  });

  it('answers three messages in one context in order, each in its own task', async () => {
    const contextId = randomUUID();
    const tasks = [
      await service.client.submit('SLOW2 first', { contextId }),
      await service.client.submit('second', { contextId }),
      await service.client.submit('third', { contextId }),
    ];
    expect((await service.client.get(tasks[2]?.id ?? '')).status.state).toBe('TASK_STATE_SUBMITTED');
    const ended = await Promise.all(tasks.map(({ id }) => endOf(id)));
    expect(ended.map((task) => answerOf(task).replace(/^(tick \d+ )+/, ''))).toEqual([
      'ECHO(turn 1): SLOW2 first',
      'ECHO(turn 2): second',
      'ECHO(turn 3): third',
    ]);
  });

  it('serves eight contexts at once', async () => {
    const startedAt = performance.now();
    const tasks = await Promise.all(Array.from({ length: 8 }, (_, n) => service.client.send(`SLOW3 context ${n}`)));
    expect(tasks.map((task) => answerOf(task).replace(/^(tick \d+ )+/, ''))).toEqual(
      Array.from({ length: 8 }, (_, n) => `ECHO(turn 1): SLOW3 context ${n}`),
    );
    const calls = tasks.map((_, n) => world.model.about(`context ${n}`)[0]);
    const starts = calls.map((call) => call?.startedAt ?? Number.POSITIVE_INFINITY);
    console.log(
      `8 contexts: ${Math.round(performance.now() - startedAt)} ms, starts within ${Math.max(...starts) - Math.min(...starts)} ms`,
    );
    expect(Math.max(...starts) - Math.min(...starts)).toBeLessThan(3000);
  });
});

describe('a cancel', () => {
  it('ends a run in the middle of its words: the model connection is dropped', async () => {
    const task = await service.client.submit('SLOW60 cancel-me');
    await eventually(async () => expect(answerOf(await service.client.get(task.id))).toContain('tick 2'), 30_000);
    const startedAt = performance.now();
    expect(stateOf(await service.client.cancel(task.id))).toBe('TASK_STATE_CANCELED');
    console.log(`cancel in mid-stream: ${Math.round(performance.now() - startedAt)} ms`);
    expect(world.model.about('cancel-me').map(({ aborted }) => aborted)).toEqual([true]);
  });

  it('ends a run in the middle of a tool call: the tool process is gone when the task is canceled', async () => {
    const seconds = 30_000 + Math.floor(Math.random() * 10_000);
    const task = await service.client.submit(`TOOL:exec {"command":"sleep ${seconds}"}`);
    await eventually(() => expect(processesOf(`sleep ${seconds}`)).not.toEqual([]), 30_000);
    const startedAt = performance.now();
    const canceled = await service.client.cancel(task.id);
    console.log(`cancel in mid-tool: ${Math.round(performance.now() - startedAt)} ms`);
    expect(stateOf(canceled)).toBe('TASK_STATE_CANCELED');
    expect(processesOf(`sleep ${seconds}`)).toEqual([]);
  });

  it('leaves the conversation usable', async () => {
    const contextId = randomUUID();
    const task = await service.client.submit('SLOW60 drop-me', { contextId });
    await eventually(() => expect(world.model.about('drop-me')).toHaveLength(1), 30_000);
    await service.client.cancel(task.id);
    expect(answerOf(await service.client.send('and now?', { contextId }))).toContain('and now?');
  });

  it('by the timeout of the task really ends the run', async () => {
    await using short = await world.service({ agent: { taskTimeoutMs: 4000 } });
    const task = await short.client.send('SLOW60 too-long');
    expect(stateOf(task)).toBe('TASK_STATE_FAILED');
    expect(statusTextOf(task)).toContain('timed out after 4 s');
    expect(world.model.about('too-long').map(({ aborted }) => aborted)).toEqual([true]);
  });
});

describe('what goes wrong', () => {
  it('with the model fails the task with the reason: 400', async () => {
    const task = await service.client.send('FAIL400 please');
    expect(stateOf(task)).toBe('TASK_STATE_FAILED');
    expect(statusTextOf(task)).toMatch(/rejected the request/);
  });

  it('with the agent id is said', async () => {
    await using other = await world.service({ connector: { agentId: 'nobody' } });
    const task = await other.client.send('hello');
    expect(stateOf(task)).toBe('TASK_STATE_FAILED');
    expect(statusTextOf(task)).toContain('OpenClaw has no agent "nobody"');
  });

  it('with the token is said at once, and by the health check', async () => {
    await using other = await world.service({ connector: { token: 'wrong' } });
    const task = await other.client.send('hello');
    expect(stateOf(task)).toBe('TASK_STATE_FAILED');
    expect(statusTextOf(task)).toContain('does not accept the token');
    const agent = createOpenclawGatewayAgent({ url: world.gateway.url, token: 'wrong' });
    expect(await agent.health?.()).toEqual({ ok: false, detail: statusTextOf(task) });
    await agent.close();
  });

  it('with nothing is said by the health check, with the version', async () => {
    const agent = createOpenclawGatewayAgent({ url: world.gateway.url, token: world.gateway.token });
    expect(await agent.health?.()).toEqual({
      ok: true,
      detail: `OpenClaw ${OPENCLAW_VERSION} at ${world.gateway.url}`,
    });
    await agent.close();
  });

  it('with the thinking level is said', async () => {
    await using other = await world.service({ connector: { thinking: 'xhigh' } });
    const task = await other.client.send('hello');
    expect(stateOf(task)).toBe('TASK_STATE_FAILED');
    expect(statusTextOf(task)).toContain('"xhigh" is not supported');
  });

  it('when the Gateway is not running fails the task at once where that is wanted', async () => {
    await using other = await world.service({ connector: { url: 'ws://127.0.0.1:9', whenDown: 'fail' } });
    const task = await other.client.send('hello');
    expect(stateOf(task)).toBe('TASK_STATE_FAILED');
    expect(statusTextOf(task)).toContain('ws://127.0.0.1:9 cannot be reached');
  });

  it('when the Gateway is not running lets the task wait, says so, and can be canceled', async () => {
    await using other = await world.service({ connector: { url: 'ws://127.0.0.1:9' } });
    const task = await other.client.submit('hello');
    await eventually(async () => {
      const now = await other.client.get(task.id);
      expect(stateOf(now)).toBe('TASK_STATE_WORKING');
      expect(statusTextOf(now)).toContain('The task waits for it');
    });
    expect(stateOf(await other.client.cancel(task.id))).toBe('TASK_STATE_CANCELED');
  });

  // The provider is on a cooldown afterwards, so these come last.
  it('with the model fails the task with the reason: 500', async () => {
    const task = await service.client.send('FAIL500 please');
    expect(stateOf(task)).toBe('TASK_STATE_FAILED');
    expect(statusTextOf(task)).not.toBe('');
    console.log(`500: ${statusTextOf(task)}`);
  }, 240_000);

  it('with the model fails the task with the reason: 401', async () => {
    const task = await service.client.send('FAIL401 please');
    expect(stateOf(task)).toBe('TASK_STATE_FAILED');
    expect(statusTextOf(task)).toMatch(/authentication failed|401/);
  });
});

const endOf = (id: string): Promise<WireTask> =>
  eventually(async () => {
    const task = await service.client.get(id);
    expect(stateOf(task)).toMatch(/COMPLETED|FAILED|CANCELED|REJECTED/);
    return task;
  }, 60_000);

const processesOf = (command: string): readonly string[] =>
  execFileSync('ps', ['-eo', 'stat=,args='], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes(command) && !line.startsWith('Z') && !line.includes('ps -eo'));
