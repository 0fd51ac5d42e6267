import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { globSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type A2aClient, answerOf, refusalOf, statusTextOf, type WireTask } from '../support/a2a-client.ts';
import { eventually } from '../support/eventually.ts';
import { ADMIN_KEY, openService } from '../support/service.ts';
import { answerTo, servedCalls } from './method-tables.ts';
import { openPluginWorld, type PluginWorld } from './plugin-world.ts';
import { openRawGateway } from './raw-gateway.ts';

let world: PluginWorld;
let client: A2aClient;
let lost: WireTask;

beforeAll(async () => {
  world = await openPluginWorld();
  client = world.client;
  // The first turn of a Gateway loads what the others then have.
  await client.send('warm up');
});

afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

const stateOf = (task: WireTask): string => task.status.state;

const endOf = (id: string, timeoutMs = 60_000): Promise<WireTask> =>
  eventually(async () => {
    const task = await client.get(id);
    expect(stateOf(task)).toMatch(/COMPLETED|FAILED|CANCELED|REJECTED/);
    return task;
  }, timeoutMs);

const modelCalled = (text: string): Promise<void> =>
  eventually(() => expect(world.model.about(text)).not.toHaveLength(0), 30_000);

describe('the plugin in the Gateway', () => {
  it('keeps its tasks and its key in the data folder of OpenClaw, for the user alone', () => {
    const data = join(world.gateway.home, 'state/data');
    const mode = (file: string): number => statSync(file).mode & 0o777;
    expect(mode(data)).toBe(0o700);
    expect(mode(join(data, 'a2a-tasks.key'))).toBe(0o600);
    expect(statSync(join(data, 'a2a-tasks.db')).size).toBeGreaterThan(0);
  });

  it('is installed with everything that it needs, its licenses, and nothing of the machine that made it', () => {
    const [folder = ''] = globSync('state/npm/projects/*/node_modules/@sealane/openclaw-plugin', {
      cwd: world.gateway.home,
    });
    const read = (name: string): string => readFileSync(join(world.gateway.home, folder, name), 'utf8');
    expect(JSON.parse(read('package.json'))).not.toHaveProperty('dependencies');
    expect(read('THIRD_PARTY_LICENSES.txt')).toMatch(/^fastify \d/m);
    const files = globSync('dist/*.js', { cwd: join(world.gateway.home, folder) });
    expect(files).toContain('dist/sqlite-worker.js');
    for (const file of files) {
      expect(read(file)).not.toContain(process.cwd());
      const imported = [...read(file).matchAll(/^(?:import|export)\b[^;]*?\bfrom ["']([^"']+)["'];$/gm)].map(
        ([, name]) => name,
      );
      expect(imported.filter((name) => !/^(node:|\.\/|openclaw\/)/.test(name ?? ''))).toEqual([]);
    }
  });

  it('knows every method and every address that the standalone service knows', async () => {
    await using alone = await openService();
    const calls = servedCalls();
    expect(calls.length).toBeGreaterThan(40);
    for (const call of calls) {
      const expected = await answerTo(call, alone.url, ADMIN_KEY);
      expect(`${call.name}: ${await answerTo(call, `${world.gateway.httpUrl}/a2a`, world.adminKey)}`).toBe(
        `${call.name}: ${expected}`,
      );
      expect(expected).not.toContain('-32601');
    }
  });

  it('shows a card with its address to those who have a key, and lets nobody else in', async () => {
    const url = `${world.gateway.httpUrl}/a2a`;
    const cardFor = (key: string): Promise<Response> =>
      fetch(`${url}/.well-known/agent-card.json`, { headers: { authorization: `Bearer ${key}` } });
    const card = (await (await cardFor(world.adminKey)).json()) as {
      supportedInterfaces: readonly { readonly url: string }[];
    };
    expect(new Set(card.supportedInterfaces.map((one) => one.url))).toEqual(new Set([url]));
    expect((await cardFor('sl_nobody')).status).toBe(404);
    expect((await client.with({ key: 'sl_nobody' }).post('{}')).status).toBe(401);
  });
});

describe('many contexts', () => {
  it('are served at once: eight of them', async () => {
    const tasks = await Promise.all(Array.from({ length: 8 }, (_, n) => client.send(`SLOW5 context ${n}`)));
    expect(tasks.map((task) => answerOf(task).replace(/^(tick \d+ )+/, ''))).toEqual(
      Array.from({ length: 8 }, (_, n) => `ECHO(turn 1): SLOW5 context ${n}`),
    );
    const starts = tasks.map((_, n) => world.model.about(`context ${n}`)[0]?.startedAt ?? Number.POSITIVE_INFINITY);
    expect(Math.max(...starts) - Math.min(...starts)).toBeLessThan(5000);
  });
});

describe('a turn inside the Gateway', () => {
  // OpenClaw tries again for about a minute before it gives up. The other tests need not wait for that.
  beforeAll(async () => {
    lost = await client.submit('FAIL500 please');
  });

  it('answers with the whole text, the model and the usage', async () => {
    const task = await client.send('hello');
    expect(stateOf(task)).toBe('TASK_STATE_COMPLETED');
    expect(answerOf(task)).toBe('ECHO(turn 1): hello');
    expect(task.metadata).toMatchObject({
      openclaw: { provider: 'fake', model: 'echo', usage: { input: 11, output: 7 } },
    });
  });

  it('streams the same to two readers, and to one who comes back what was missed', async () => {
    const sent = await client.stream('SLOW3 count');
    const first = await sent.until(({ artifactUpdate }) => artifactUpdate !== undefined);
    const id = first.artifactUpdate?.taskId ?? '';
    const joined = await client.subscribe(id);
    const snapshot = await joined.next();
    const left = await client.subscribe(id, first.id);
    const missed = await left.next();
    await left.leave();
    const [events, others] = await Promise.all([sent.rest(), joined.rest()]);
    const after = (seq: number): readonly string[] =>
      events.filter((one) => (one.id ?? 0) > seq).map(({ text }) => text);
    expect(others.map(({ text }) => text)).toEqual(after(snapshot?.id ?? 0));
    expect(missed?.text).toBe(events[0]?.text);
    const again = await (await client.subscribe(id, missed?.id)).rest();
    expect(again.map(({ text }) => text)).toEqual(after(missed?.id ?? 0));
    const chunks = [first, ...events].flatMap(({ artifactUpdate }) => (artifactUpdate ? [artifactUpdate] : []));
    expect(chunks.length).toBeGreaterThan(6);
    expect(chunks.flatMap(({ artifact }) => artifact.parts.map(({ text }) => text)).join('')).toMatch(
      /^(tick \d+ ){12}ECHO\(turn 1\): SLOW3 count$/,
    );
    expect(events.at(-1)?.statusUpdate?.status.state).toBe('TASK_STATE_COMPLETED');
  });

  it('names its tools to the owner, without their arguments, and to nobody else', async () => {
    const words = async (caller: A2aClient): Promise<string> => {
      const events = await (await caller.stream('SLOW1 look\nTOOL:ls {"path":"."}')).rest();
      expect(events.at(-1)?.statusUpdate?.status.state).toBe('TASK_STATE_COMPLETED');
      expect(answerOf(await caller.get(events[0]?.task?.id ?? ''))).toMatch(
        /^tick 1 tick 2 tick 3 tick 4\n\nRESULTS: /,
      );
      return JSON.stringify(events.flatMap(({ statusUpdate }) => statusUpdate ?? []));
    };
    const own = await words(client);
    expect(own).toContain('Using ls');
    expect(own).not.toContain('"path"');
    expect(await words(await world.clientOf('peer-tools', { permission: 'guarded' }))).not.toContain('Using');
  });

  it('keeps what is said in the same breath as a tool call, which OpenClaw tells in another way', async () => {
    const task = await client.send('SAY:Looking.\nTOOL:ls {"path":"."}\nTOOL:ls {"path":"."}');
    expect(answerOf(task)).toMatch(/^Looking\.\n\nLooking\.\n\nRESULTS: /);
  });

  it('sends links and files of the workspace as files, and no other file of its machine', async () => {
    writeFileSync(join(world.gateway.workspace, 'note.txt'), 'from the workspace');
    const outside = join(world.gateway.home, 'secret.txt');
    writeFileSync(outside, 'top secret words');
    const filesOf = async (place: string): Promise<readonly unknown[]> => {
      const task = await client.send(`a file\nMEDIA:${place}`);
      expect(stateOf(task)).toBe('TASK_STATE_COMPLETED');
      return (task.artifacts?.[0]?.parts ?? []).filter(({ raw, url }) => raw !== undefined || url !== undefined);
    };
    const raw = Buffer.from('from the workspace').toString('base64');
    expect(await filesOf('./note.txt')).toEqual([{ raw, mediaType: 'text/plain', filename: 'note.txt' }]);
    expect(await filesOf('https://files.example/cat.png')).toEqual([
      { url: 'https://files.example/cat.png', mediaType: 'image/png', filename: 'cat.png' },
    ]);
    expect(await filesOf(outside)).toEqual([]);
    expect(await filesOf('../secret.txt')).toEqual([]);
  });

  it('hands images and data on, and refuses what OpenClaw cannot read', async () => {
    const raw = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const image = { raw, mediaType: 'image/png', filename: 'dot.png' };
    const seen = await client.send('', { parts: [{ text: 'see-it' }, image, { data: { answer: 42 } }] });
    expect(answerOf(seen)).toContain('"answer": 42');
    expect(world.model.about('see-it').at(-1)?.attachments).toBe(1);
    const refused = await client.send('', { parts: [{ text: 'unpack-it' }, { raw, mediaType: 'application/zip' }] });
    expect(stateOf(refused)).toBe('TASK_STATE_REJECTED');
    expect(world.model.about('unpack-it')).toHaveLength(0);
  });

  it('answers three messages in one context in order, each in its own task', async () => {
    const contextId = randomUUID();
    const tasks = [
      await client.submit('SLOW2 first', { contextId }),
      await client.submit('second', { contextId }),
      await client.submit('third', { contextId }),
    ];
    expect(stateOf(await client.get(tasks[2]?.id ?? ''))).toBe('TASK_STATE_SUBMITTED');
    const ended = await Promise.all(tasks.map(({ id }) => endOf(id)));
    expect(ended.map((task) => answerOf(task).replace(/^(tick \d+ )+/, ''))).toEqual([
      'ECHO(turn 1): SLOW2 first',
      'ECHO(turn 2): second',
      'ECHO(turn 3): third',
    ]);
  });
});

describe('owners', () => {
  it('see and reach nothing of each other, in the same context too', async () => {
    const contextId = randomUUID();
    const [one, other] = await Promise.all([world.clientOf('one'), world.clientOf('other')]);
    const mine = await one.send('mine', { contextId });
    expect(answerOf(await other.send('theirs', { contextId }))).toBe('ECHO(turn 1): theirs');
    expect((await refusalOf(other.get(mine.id))).code).toBe(-32001);
    expect((await refusalOf(other.cancel(mine.id))).code).toBe(-32001);
    expect((await other.list({ contextId, includeArtifacts: true })).tasks.map((task) => answerOf(task))).toEqual([
      'ECHO(turn 1): theirs',
    ]);
  });

  it('have conversations that differ only in case', async () => {
    const contextId = `Case-${randomUUID()}`;
    await client.send('one', { contextId });
    expect(answerOf(await client.send('two', { contextId }))).toBe('ECHO(turn 2): two');
    expect(answerOf(await client.send('three', { contextId: contextId.toLowerCase() }))).toBe('ECHO(turn 1): three');
  });
});

describe('a cancel', () => {
  it('ends a run in the middle of its words: the model connection is dropped', async () => {
    const task = await client.submit('SLOW60 cancel-me');
    await eventually(async () => expect(answerOf(await client.get(task.id))).toContain('tick 2'), 30_000);
    expect(stateOf(await client.cancel(task.id))).toBe('TASK_STATE_CANCELED');
    expect(world.model.about('cancel-me').map(({ aborted }) => aborted)).toEqual([true]);
  });

  it('ends a run in the middle of a tool call: the tool process is gone when the task is canceled', async () => {
    const contextId = randomUUID();
    const seconds = 30_000 + Math.floor(Math.random() * 10_000);
    const task = await client.submit(`TOOL:exec {"command":"sleep ${seconds}"}`, { contextId });
    await eventually(() => expect(processesOf(`sleep ${seconds}`)).not.toEqual([]), 30_000);
    expect(stateOf(await client.cancel(task.id))).toBe('TASK_STATE_CANCELED');
    expect(processesOf(`sleep ${seconds}`)).toEqual([]);
    expect(answerOf(await client.send('and now?', { contextId }))).toContain('and now?');
  });
});

describe('a stop in OpenClaw', () => {
  it('ends the task as canceled', async () => {
    using raw = await openRawGateway({
      url: world.gateway.url,
      token: world.gateway.token,
      scopes: ['operator.read', 'operator.write', 'operator.admin'],
    });
    const task = await client.submit('SLOW60 stop-me', { contextId: 'stopped-there' });
    await modelCalled('stop-me');
    await raw.request('sessions.abort', { key: 'agent:main:sealane-plugin:n-main:u-admin:a2a-stopped-there' });
    const ended = await endOf(task.id);
    expect(stateOf(ended)).toBe('TASK_STATE_CANCELED');
    expect(statusTextOf(ended)).toBe('The run was stopped in OpenClaw.');
  });
});

describe('a model that fails', () => {
  it('because of the request fails the task with the reason: 400', async () => {
    const task = await client.send('FAIL400 please');
    expect(stateOf(task)).toBe('TASK_STATE_FAILED');
    expect(statusTextOf(task)).toMatch(/rejected the request/);
  });

  it('for a while is asked again by OpenClaw, and the task can be canceled meanwhile: 503', async () => {
    const task = await client.submit('FAIL503 please');
    await modelCalled('FAIL503');
    expect(stateOf(await client.cancel(task.id))).toBe('TASK_STATE_CANCELED');
  });

  it('for good fails the task with the reason: 500', async () => {
    const task = await endOf(lost.id, 200_000);
    expect(stateOf(task)).toBe('TASK_STATE_FAILED');
    expect(statusTextOf(task)).toMatch(/provider internal error/);
    expect(world.model.about('FAIL500').length).toBeGreaterThan(2);
  }, 240_000);

  // The provider is on a cooldown afterwards, so this comes last.
  it('because of its key fails the task with the reason: 401', async () => {
    const task = await client.send('FAIL401 please');
    expect(stateOf(task)).toBe('TASK_STATE_FAILED');
    expect(statusTextOf(task)).toMatch(/authentication failed|401/);
  });
});

const processesOf = (command: string): readonly string[] =>
  execFileSync('ps', ['-eo', 'stat=,args='], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes(command) && !line.startsWith('Z') && !line.includes('ps -eo'));
