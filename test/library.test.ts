import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

import express from 'express';
import { createEchoAgent, createSealane, SealaneError } from 'sealane';
import { openStore, type Storage } from 'sealane/store';
import { describe, expect, it } from 'vitest';

import { createA2aClient } from './support/a2a-client.ts';
import { createGateAgent } from './support/gate-agent.ts';
import { freshFolder } from './support/served-process.ts';

const EXAMPLES = join(import.meta.dirname, '../examples');

/** What each example prints, line by line. */
const PRINTED: Readonly<Record<string, readonly (string | RegExp)[]>> = {
  'embed-node-http.ts': [/^listening on http/, 'a route of your own', 'the task is TASK_STATE_COMPLETED'],
  'embed-express.ts': [
    /^listening on http.*\/tasks$/,
    'a route of your own',
    'the card says /tasks/a2a',
    'the task is TASK_STATE_COMPLETED',
  ],
  'embed-fastify.ts': [
    /^listening on http.*\/tasks$/,
    'a route of your own',
    'the card says /tasks/a2a',
    'the task is TASK_STATE_COMPLETED',
  ],
  'custom-connector.ts': ['5', '4', '3', '2', '1', 'completed: lift-off', 'canceled', 'rejected'],
  'custom-store.ts': ['the task is completed', /admit 1/],
  'sdk-executor.ts': [
    'completed: [{"artifactId":"shout","parts":[{"text":"HELLO! THERE! "}]}]',
    'input-required, then completed',
    'canceled',
  ],
  'client-js.ts': [
    'sent: TASK_STATE_COMPLETED, hello',
    'streamed: 20 chunks, then TASK_STATE_COMPLETED',
    'found: TASK_STATE_COMPLETED',
    'listed: 1 of 1',
    'canceled: TASK_STATE_CANCELED',
    'followed: TASK_STATE_WORKING → TASK_STATE_WORKING → TASK_STATE_CANCELED',
  ],
};

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const runNode = async (...words: readonly string[]): Promise<Ended> => {
  const child = spawn(
    process.execPath,
    ['--conditions=sealane:source', '--disable-warning=ExperimentalWarning', ...words],
    {
      cwd: EXAMPLES,
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const closed = once(child, 'close') as Promise<[number | null]>;
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  return { code, stdout, stderr };
};

describe('the examples', () => {
  it('are all tried here', () => {
    expect(
      readdirSync(EXAMPLES)
        .filter((name) => name.endsWith('.ts'))
        .sort(),
    ).toEqual(Object.keys(PRINTED).sort());
  });

  it.each(Object.entries(PRINTED))('%s does what it says, and ends by itself', async (name, lines) => {
    const { code, stdout, stderr } = await runNode(name, '--once');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const printed = stdout.trimEnd().split('\n');
    expect(printed).toHaveLength(lines.length);
    for (const [index, line] of lines.entries()) {
      if (typeof line === 'string') expect(printed[index]).toBe(line);
      else expect(printed[index]).toMatch(line);
    }
  });
});

describe('a service inside a program', () => {
  it('behind Express answers streams, refusals and cancels as it does alone, whether or not the body was parsed', async () => {
    const parsers = [undefined, express.json(), express.text({ type: '*/*' }), express.raw({ type: '*/*' })];
    for (const parser of parsers) {
      await using sealane = await createSealane({
        store: 'memory',
        agents: { echo: createEchoAgent() },
        adminKey: 'key',
        settings: { drainMs: 0 },
      });
      const app = express();
      if (parser) app.use(parser);
      app.use('/deep/er', sealane.handler);
      const server = app.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/deep/er`;
      const client = createA2aClient({ url, key: 'key' });
      expect((await (await client.stream('@stream 10 0')).rest()).at(-1)?.statusUpdate?.status.state).toBe(
        'TASK_STATE_COMPLETED',
      );
      await expect(client.get('nobody')).rejects.toMatchObject({ code: -32001 });
      const long = await client.submit('@sleep 60000');
      expect((await client.cancel(long.id)).status.state).toBe('TASK_STATE_CANCELED');
      expect((await fetch(`${url}/nothing`)).status).toBe(401);
      server.close();
      server.closeAllConnections();
    }
  });

  it('on a file that is open in this process says so, and not to kill anybody', async () => {
    using folder = freshFolder();
    const options = { store: `sqlite:${join(folder.path, 'tasks.db')}`, agents: { echo: createEchoAgent() } };
    await using _first = await createSealane({ ...options, adminKey: 'key' });
    const second = createSealane({ ...options, adminKey: 'key' });
    await expect(second).rejects.toMatchObject({ code: 'store-locked' });
    await expect(second).rejects.toThrow(/in use by process \d+, which is this one[^]*Close the service/);
  });

  it('that is closed lets its runs end or stop, its streams know, and its store go', async () => {
    using folder = freshFolder();
    const gate = createGateAgent();
    const file = `sqlite:${join(folder.path, 'tasks.db')}`;
    const first = await createSealane({
      store: file,
      agents: { gate: gate.connector },
      adminKey: 'key',
      settings: { drainMs: 60_000 },
    });
    const url = await first.app.listen({ host: '127.0.0.1', port: 0 });
    const client = createA2aClient({ url, key: 'key' });
    const stream = await client.stream('last words');
    const run = await gate.started('last words');
    const closing = first.close();
    run.end({ state: 'completed', message: run.io.say('goodbye') });
    await closing;
    expect((await stream.rest()).at(-1)?.statusUpdate?.status).toMatchObject({
      state: 'TASK_STATE_COMPLETED',
      message: { parts: [{ text: 'goodbye' }] },
    });

    // The file is free again, and closing twice is closing once.
    await first.close();
    await using second = await createSealane({ store: file, agents: { gate: gate.connector } });
    const caller = {
      owner: 'admin',
      keyId: 'x',
      admin: true,
      agents: null,
      permission: 'guarded',
      tenant: '',
    } as const;
    expect((await second.tasks.get(caller, run.turn.taskId)).state).toBe('completed');
  });

  it('leaves a storage that it was given open', async () => {
    await using storage = await openStore('memory');
    const sealane = await createSealane({ store: storage, agents: { echo: createEchoAgent() } });
    await sealane.close();
    expect(await storage.upkeep.check()).toBeUndefined();
  });

  it('that does not start lets a storage that it was given go', async () => {
    await using storage = await openStore('memory');
    let listeners = 0;
    let hasLeft = false;
    const store: Storage = {
      ...storage,
      tasks: {
        ...storage.tasks,
        leave: async (instance) => {
          hasLeft = true;
          return storage.tasks.leave(instance);
        },
      },
      outbox: {
        ...storage.outbox,
        onOwed: () => {
          throw new Error('nothing is owed');
        },
      },
      onCommit: () => {
        listeners += 1;
        return { [Symbol.dispose]: () => void (listeners -= 1) };
      },
    };
    await expect(createSealane({ store, agents: { echo: createEchoAgent() } })).rejects.toThrow('nothing is owed');
    expect({ listeners, hasLeft }).toEqual({ listeners: 0, hasLeft: true });
  });

  it('changes its agents while runs go on: they end with the connector they began with, which is closed after them', async () => {
    const [before, after] = [createGateAgent(), createGateAgent()];
    let isClosed = false;
    const connector = { ...before.connector, close: async () => void (isClosed = true) };
    await using sealane = await createSealane({
      store: 'memory',
      agents: { main: connector },
      adminKey: 'key',
      settings: { drainMs: 0 },
    });
    const url = await sealane.app.listen({ host: '127.0.0.1', port: 0 });
    const client = createA2aClient({ url, key: 'key' });
    const old = client.send('old');
    const run = await before.started('old');
    sealane.replaceAgents({ main: { connector: after.connector, default: true }, second: createEchoAgent() });
    const fresh = client.send('new');
    (await after.started('new')).end();
    expect((await fresh).status.state).toBe('TASK_STATE_COMPLETED');
    expect(isClosed).toBe(false);
    run.end();
    expect((await old).status.state).toBe('TASK_STATE_COMPLETED');
    await expect.poll(() => isClosed).toBe(true);
    expect((await client.with({ path: '/agents/second' }).send('hello')).status.state).toBe('TASK_STATE_COMPLETED');
  });

  it('does not start with a store that is none, or an admin key that is empty, and says why', async () => {
    await expect(createSealane({ store: 'mysql://x', agents: {} })).rejects.toMatchObject({
      code: 'bad-config',
      message: expect.stringContaining('postgres://'),
    });
    await expect(createSealane({ store: 'memory', agents: {}, adminKey: '' })).rejects.toBeInstanceOf(SealaneError);
  });

  it('stands under its prefix, however that is written, on the cards as well', async () => {
    for (const prefix of ['deep/er', '/deep/er', '/deep/er/']) {
      await using sealane = await createSealane({
        store: 'memory',
        agents: { echo: { connector: createEchoAgent(), public: true } },
        http: { prefix },
      });
      const url = await sealane.app.listen({ host: '127.0.0.1', port: 0 });
      const answer = await fetch(`${url}/deep/er/.well-known/agent-card.json`);
      const card = (await answer.json()) as { readonly supportedInterfaces: readonly { readonly url: string }[] };
      expect(card.supportedInterfaces[0]?.url).toBe(`${url}/deep/er/a2a`);
    }
  });

  it.each([
    { publicUrl: 'example.com/tasks' },
    { publicUrl: 'ftp://example.com' },
    { heartbeatMs: 0 },
    { heartbeatMs: 2 ** 31 },
    { stallMs: Number.NaN },
  ])('does not start with %j, and says which option is wrong', async (http) => {
    await expect(createSealane({ store: 'memory', agents: {}, http })).rejects.toMatchObject({
      code: 'bad-config',
      message: expect.stringContaining(`http.${Object.keys(http)[0]}`),
    });
  });

  it('that does not start leaves nothing behind that would keep its program alive', async () => {
    const script = `
      import { createSealane } from 'sealane';
      await createSealane({ store: 'memory', agents: {}, adminKey: '' }).catch((error) => console.log(error.code));`;
    expect(await runNode('--input-type=module', '-e', script)).toEqual({ code: 0, stdout: 'bad-config\n', stderr: '' });
  });

  it('that was closed before it listens does not keep its program alive', async () => {
    const sealane = await createSealane({ store: 'memory', agents: { echo: createEchoAgent() } });
    await sealane.close();
    const { server } = sealane.app;
    const ended = once(server, 'close');
    await sealane.app.listen({ host: '127.0.0.1', port: 0 });
    await ended;
    expect(server.listening).toBe(false);
  });

  it('holds no connection of the server around it when it is closed', async () => {
    const sealane = await createSealane({
      store: 'memory',
      agents: { echo: createEchoAgent() },
      adminKey: 'key',
      settings: { drainMs: 0 },
    });
    const server = createServer((request, response) => sealane.handler(request, response));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const client = createA2aClient({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, key: 'key' });
    const stream = await client.stream('@sleep 60000');
    await stream.next();
    await sealane.close();
    await stream.rest();
    const refusal = await client.post('{}');
    expect(refusal.status).toBe(503);
    server.close();
    server.closeAllConnections();
  });
});
