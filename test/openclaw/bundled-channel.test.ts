import { randomUUID } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { answerOf } from '../support/a2a-client.ts';
import type { TestService } from '../support/service.ts';
import { eventually } from '../support/eventually.ts';
import { isEnd, startReceiver } from '../support/webhook-receiver.ts';
import { type OpenclawWorld, openOpenclawWorld } from './openclaw-world.ts';

/**
 * What the A2A channel that OpenClaw brings does with the same requests: the comparison in the docs, line by line. A
 * line that fails here is a line of the docs to change.
 */
const TOKEN = 'peer-token-of-the-tests';

let world: OpenclawWorld;

beforeAll(async () => {
  world = await openOpenclawWorld({
    config: ({ httpUrl }) => ({
      channels: {
        a2a: { enabled: true, advertisedUrl: httpUrl, rateLimitPerMinute: 0, peers: { peer: { token: TOKEN } } },
      },
      // As OpenClaw comes: nobody has kept sessions apart.
      tools: {},
    }),
  });
  await send('warm up');
});

afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

interface Answer {
  readonly result?: {
    readonly task?: {
      readonly id: string;
      readonly status: { readonly state: string };
      readonly artifacts?: readonly { readonly parts: readonly { readonly text?: string }[] }[];
    };
  };
  readonly error?: { readonly code: number };
}

const call = async (method: string, params: object): Promise<Answer> => {
  const response = await fetch(`${world.gateway.httpUrl}/a2a/v1`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  return (await response.json()) as Answer;
};

const send = (text: string, contextId: string = randomUUID(), configuration: object = {}): Promise<Answer> =>
  call('SendMessage', {
    message: { messageId: randomUUID(), contextId, role: 'ROLE_USER', parts: [{ text }] },
    configuration,
  });

const textOf = ({ result }: Answer): string =>
  (result?.task?.artifacts ?? []).flatMap(({ parts }) => parts.map(({ text }) => text ?? '')).join('');

describe('the channel that OpenClaw brings', () => {
  it('runs commands for any peer', async () => {
    const place = join(world.gateway.home, 'made-by-a-peer');
    await send(`TOOL:exec ${JSON.stringify({ command: `touch ${place}` })}`);
    expect(existsSync(place)).toBe(true);
  });

  it('reads and writes for any peer wherever it likes', async () => {
    const secret = join(world.gateway.home, 'secret');
    const place = join(world.gateway.home, 'written-by-a-peer');
    writeFileSync(secret, 'top secret words');
    await send(
      `TOOL:read ${JSON.stringify({ path: secret })}\nTOOL:write ${JSON.stringify({ path: place, content: 'x' })}`,
    );
    expect(world.model.about(secret).at(-1)?.toolResults[0]).toContain('top secret words');
    expect(existsSync(place)).toBe(true);
  });

  it('offers any peer the message tool', async () => {
    const message = { action: 'send', channel: 'a2a', target: 'somebody', message: 'hello' };
    await send(`TOOL:tool_call ${JSON.stringify({ id: 'message', args: message })}`);
    const [result] = world.model.about('"message"').at(-1)?.toolResults ?? [];
    expect(result).not.toMatch(/unknown tool|not found/i);
  });

  it('lets any peer make another session of the owner do things', async () => {
    const place = join(world.gateway.home, 'made-by-another-session');
    const message = `TOOL:exec ${JSON.stringify({ command: `touch ${place}` })}`;
    const args = { sessionKey: 'agent:main:main', message, timeoutSeconds: 30 };
    await send(`TOOL:tool_call ${JSON.stringify({ id: 'sessions_send', args })}`);
    await eventually(() => expect(existsSync(place)).toBe(true), 60_000);
  });

  it('schedules nothing for a peer', async () => {
    const job = {
      name: 'x',
      schedule: { kind: 'every', everyMs: 60_000 },
      payload: { kind: 'agentTurn', message: 'x' },
    };
    await send(`TOOL:tool_call ${JSON.stringify({ id: 'cron', args: { action: 'add', job } })}`);
    const [result] = world.model.about('"cron"').at(-1)?.toolResults ?? [];
    expect(result).toMatch(/unknown tool|not found/i);
  });

  it('does not begin a conversation anew for a peer who says /new', async () => {
    const contextId = randomUUID();
    await send('before', contextId);
    await send('/new', contextId);
    await send('AFTER-NEW', contextId);
    expect(world.model.about('AFTER-NEW').at(-1)?.turn).toBeGreaterThan(1);
  });

  it.each(['CancelTask', 'SubscribeToTask', 'ListTasks', 'CreateTaskPushNotificationConfig'])(
    'does not know %s',
    async (method) => {
      const { result } = await send('hello');
      expect((await call(method, { id: result?.task?.id, taskId: result?.task?.id })).error?.code).toBe(-32004);
    },
  );

  it('does not stream', async () => {
    const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: 'hello' }] };
    expect((await call('SendStreamingMessage', { message })).error?.code).toBe(-32004);
  });

  it('throws contexts together that differ only in case', async () => {
    const contextId = `Case-${randomUUID()}`;
    await send('MARK-ONE', contextId);
    await send('MARK-TWO', contextId.toLowerCase());
    const calls = world.model.about('MARK-TWO');
    expect(calls.at(-1)?.turn).toBe(2);
  });

  it('calls a task completed that the model failed', async () => {
    const answer = await send('FAIL400 please');
    expect(answer.result?.task?.status.state).toBe('TASK_STATE_COMPLETED');
    expect(textOf(answer)).toMatch(/failed|rejected|error/i);
  });

  it('forgets its tasks when the Gateway is started anew', async () => {
    const { result } = await send('remember me');
    await world.gateway.kill();
    await world.gateway.start();
    expect((await call('GetTask', { id: result?.task?.id })).error?.code).toBe(-32001);
  });
});

describe('Sealane, on the same Gateway', () => {
  let service: TestService;

  beforeAll(async () => {
    service = await world.service({ sealane: { allowPrivateWebhooks: true } });
  });

  afterAll(async () => {
    await service?.close();
  });

  it('replays a task to whoever comes later, also after its end', async () => {
    const stream = await service.client.stream('SLOW1 a few words');
    const told = await stream.rest();
    const { id } = (await service.client.list()).tasks[0] ?? { id: '' };
    const again = await (await service.client.subscribe(id, 0)).rest();
    expect(again.length).toBeGreaterThan(2);
    expect(again.map(({ text }) => text).slice(-told.length + 1)).toEqual(told.map(({ text }) => text).slice(1));
  });

  it('lists tasks, by context and by state', async () => {
    const contextId = randomUUID();
    const [one, two] = [
      await service.client.send('one', { contextId }),
      await service.client.send('two', { contextId }),
    ];
    await service.client.send('FAIL400 three', { contextId });
    const completed = await service.client.list({ contextId, status: 'TASK_STATE_COMPLETED' });
    expect(completed.tasks.map(({ id }) => id)).toEqual([two.id, one.id]);
    expect((await service.client.list({ contextId })).totalSize).toBe(3);
  });

  it('tells a webhook every event, in order', async () => {
    await using receiver = await startReceiver();
    const config = { taskPushNotificationConfig: { url: `${receiver.url}/hook` } };
    const task = await service.client.send('tell me', { configuration: config });
    expect(answerOf(task)).toContain('tell me');
    const told = await receiver.until('/hook', isEnd);
    const log = await (await service.client.subscribe(task.id, 0)).rest();
    expect(told.map(({ body }) => body)).toEqual(
      log.map(({ text }) => (JSON.parse(text) as { result: unknown }).result),
    );
  });
});
