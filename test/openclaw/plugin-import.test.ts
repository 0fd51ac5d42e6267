import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { eventually } from '../support/eventually.ts';
import { openPluginWorld, type PluginWorld } from './plugin-world.ts';

/** Peers of the channel that OpenClaw brings, one of them with a token that stands elsewhere. */
const LITERAL = 'token-of-apollo';
const REFERRED = 'token-of-hermes';

let world: PluginWorld;
let configFile: string;

beforeAll(async () => {
  world = await openPluginWorld({
    config: ({ httpUrl }) => ({
      env: { vars: { HERMES_TOKEN: REFERRED } },
      channels: {
        a2a: {
          enabled: true,
          advertisedUrl: httpUrl,
          rateLimitPerMinute: 200,
          peers: {
            apollo: { token: LITERAL },
            hermes: { token: '${HERMES_TOKEN}', url: 'http://127.0.0.1:9/a2a/v1' },
          },
        },
      },
    }),
  });
  configFile = join(world.gateway.home, 'openclaw.json');
});

afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

interface Task {
  readonly id: string;
  readonly contextId: string;
  readonly status: { readonly state: string };
  readonly artifacts?: readonly { readonly parts: readonly { readonly text?: string }[] }[];
}

interface Answer {
  readonly status: number;
  readonly result?: Task & { readonly task?: Task; readonly tasks?: readonly Task[] };
  readonly error?: { readonly code: number };
}

/** A peer that knows nothing of versions, at the address that it always had. */
const post = async (token: string, body: unknown): Promise<Response> =>
  fetch(`${world.gateway.httpUrl}/a2a/v1`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

const call = async (token: string, method: string, params: object): Promise<Answer> => {
  const response = await post(token, { jsonrpc: '2.0', id: 1, method, params });
  return { status: response.status, ...((await response.json()) as object) };
};

const send = async (token: string, text: string, message: object = {}): Promise<Task> => {
  const answer = await call(token, 'SendMessage', {
    message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...message },
  });
  if (!answer.result?.task) throw new Error(JSON.stringify(answer));
  return answer.result.task;
};

const textOf = (task: Task): string =>
  (task.artifacts ?? []).flatMap(({ parts }) => parts.map(({ text }) => text ?? '')).join('');

/** Only the service lists tasks; the channel says that it cannot. */
const answerer = async (token = LITERAL): Promise<'channel' | 'sealane'> => {
  const { error } = await call(token, 'ListTasks', {});
  return error?.code === -32_004 ? 'channel' : 'sealane';
};

const config = (): string => readFileSync(configFile, 'utf8');

/** Writes the configuration as an editor would; resolves when the Gateway works by it. */
const rewrite = async (text: string): Promise<void> => {
  const applied = (): number => world.gateway.log().match(/config hot reload applied/g)?.length ?? 0;
  const before = applied();
  writeFileSync(configFile, text);
  await eventually(() => expect(applied()).toBeGreaterThan(before), 60_000);
};

const cardUrls = async (): Promise<string> => {
  const response = await fetch(`${world.gateway.httpUrl}/.well-known/agent-card.json`);
  return JSON.stringify(((await response.json()) as { supportedInterfaces: unknown }).supportedInterfaces);
};

let before: string;

describe('before the import', () => {
  it('leaves the channel its address, its peers and its card, and has the rest', async () => {
    before = config();
    expect((await send(LITERAL, 'hello')).status.state).toBe('TASK_STATE_COMPLETED');
    expect((await send(REFERRED, 'hello')).status.state).toBe('TASK_STATE_COMPLETED');
    expect(await answerer()).toBe('channel');
    expect(await cardUrls()).toContain(`${world.gateway.httpUrl}/a2a/v1`);
    expect((await world.client.send('hello')).status.state).toBe('TASK_STATE_COMPLETED');
    expect((await world.client.list()).totalSize).toBe(1);
  });

  it('does not know the peers itself', async () => {
    expect((await world.client.with({ key: LITERAL }).post('{}')).status).toBe(401);
  });

  it('says what it would change, and changes nothing; nor while a task runs, since OpenClaw would not take it in', async () => {
    const running = await world.client.submit('SLOW60 not yet');
    const [{ code, stdout }, refused] = await Promise.all([
      world.gateway.openclaw('a2a-tasks', 'import', '--dry-run', '--json'),
      world.gateway.openclaw('a2a-tasks', 'import'),
    ]);
    await world.client.cancel(running.id);
    expect(refused.code).not.toBe(0);
    expect(refused.output).toContain('while tasks run');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      done: false,
      peers: ['apollo', 'hermes'],
      changes: [
        { setting: 'channels.a2a.enabled', before: true, after: false },
        { setting: 'plugins.entries["a2a-tasks"].config.takeOverChannel', before: null, after: true },
      ],
      applied: null,
      unreachable: ['hermes'],
    });
    expect(config()).toBe(before);
  });
});

describe('after the import', () => {
  let old: Task;

  beforeAll(async () => {
    const { code, output } = await world.gateway.openclaw('a2a-tasks', 'import');
    expect(code, output).toBe(0);
    expect(output).toContain('no restart is needed');
    expect(output).toMatch(/warning: .*cannot send messages to hermes/);
    old = await send(LITERAL, 'remember apollo', { contextId: 'Travel' });
  });

  it('has changed two settings of OpenClaw and no other letter: tokens and references stay as they were', () => {
    expect(config()).toContain('"token": "${HERMES_TOKEN}"');
    const expected = JSON.parse(before) as {
      channels: { a2a: { enabled: boolean } };
      plugins: { entries: Record<string, { config: Record<string, unknown> }> };
    };
    expected.channels.a2a.enabled = false;
    const entry = expected.plugins.entries['a2a-tasks'];
    if (entry) entry.config['takeOverChannel'] = true;
    expect(JSON.parse(config())).toEqual(expected);
  });

  it('answers unchanged peers at their address, with their tokens', async () => {
    expect(old.status.state).toBe('TASK_STATE_COMPLETED');
    expect(textOf(old)).toBe('ECHO(turn 1): remember apollo');
    expect(textOf(await send(REFERRED, 'hello'))).toBe('ECHO(turn 1): hello');
    expect(await answerer()).toBe('sealane');
    const listed = await world.admin.get<{ tasks: { task: Task; owner: string }[] }>('/tasks');
    expect(listed.tasks.find(({ task }) => task.id === old.id)?.owner).toBe('a2a:apollo');
  });

  it('refuses a wrong token', async () => {
    expect((await post('token-of-nobody', {})).status).toBe(401);
  });

  it('keeps the peers apart', async () => {
    expect((await call(REFERRED, 'GetTask', { id: old.id })).error?.code).toBe(-32_001);
    const { result } = await call(REFERRED, 'ListTasks', {});
    expect(result?.tasks?.map(({ id }) => id)).not.toContain(old.id);
  });

  it('goes on with a conversation, also when a peer names a task that has ended', async () => {
    const next = await send(LITERAL, 'and now', { contextId: 'Travel', taskId: old.id });
    expect(next.id).not.toBe(old.id);
    expect(textOf(next)).toBe('ECHO(turn 2): and now');
    expect(textOf(await send(LITERAL, 'elsewhere', { contextId: 'travel' }))).toBe('ECHO(turn 1): elsewhere');
  });

  it('understands the older names and forms that the channel understood, and answers as the channel did', async () => {
    const sent = await call(LITERAL, 'message/send', {
      message: { role: 'user', parts: [{ kind: 'text', text: 'old words' }, { kind: 'unknown' }] },
    });
    const task = sent.result?.task;
    expect(task?.status.state).toBe('TASK_STATE_COMPLETED');
    expect((await call(LITERAL, 'tasks/get', { id: task?.id })).result?.id).toBe(task?.id);
    const early = await call(LITERAL, 'SendMessage', {
      message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: 'SLOW1 early' }] },
      configuration: { returnImmediately: true },
    });
    expect(early.result?.task?.status.state).toMatch(/SUBMITTED|WORKING/);
    const batch = await post(LITERAL, [
      { jsonrpc: '2.0', id: 'a', method: 'GetTask', params: { id: task?.id } },
      { jsonrpc: '2.0', id: 'b', method: 'GetTask', params: { id: 'none' } },
      { jsonrpc: '2.0', id: 'c', method: 'SubscribeToTask', params: { id: task?.id } },
    ]);
    expect(await batch.json()).toMatchObject([
      { id: 'a', result: { id: task?.id } },
      { id: 'b', error: { code: -32_001 } },
      { id: 'c', error: { code: -32_600 } },
    ]);
  });

  it('can do at that address what the channel could not: stream', async () => {
    const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: 'flow' }] };
    const response = await post(LITERAL, {
      jsonrpc: '2.0',
      id: 1,
      method: 'SendStreamingMessage',
      params: { message },
    });
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    expect(await response.text()).toContain('TASK_STATE_COMPLETED');
  });

  it('shows its card where the channel showed its own', async () => {
    expect(await cardUrls()).toContain(`"${world.gateway.httpUrl}/a2a"`);
  });

  it('takes in a new peer while it runs', async () => {
    const imported = config();
    await rewrite(imported.replace('"apollo": {', '"juno": { "token": "token-of-juno" }, "apollo": {'));
    expect(textOf(await send('token-of-juno', 'hello'))).toBe('ECHO(turn 1): hello');
    await rewrite(imported);
    expect((await post('token-of-juno', {})).status).toBe(401);
    expect(await answerer()).toBe('sealane');
  });

  it('has the tasks of its peers after the Gateway was stopped and started anew', async () => {
    await world.gateway.stop();
    await world.start();
    expect((await call(LITERAL, 'GetTask', { id: old.id })).result?.status.state).toBe('TASK_STATE_COMPLETED');
    expect(await answerer(REFERRED)).toBe('sealane');
  });
});

describe('after import --undo', () => {
  it('gives the peers back to the channel, and every letter of the configuration', async () => {
    const { code, output } = await world.gateway.openclaw('a2a-tasks', 'import', '--undo');
    expect(code, output).toBe(0);
    expect(output).toContain('no restart is needed');
    expect(config().trimEnd()).toBe(before.trimEnd());
    expect(await answerer()).toBe('channel');
    expect((await send(REFERRED, 'hello again')).status.state).toBe('TASK_STATE_COMPLETED');
    expect(await cardUrls()).toContain(`${world.gateway.httpUrl}/a2a/v1`);
    expect((await world.client.with({ key: LITERAL }).post('{}')).status).toBe(401);
  });
});
