import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type A2aClient, answerOf, statusTextOf } from '../support/a2a-client.ts';
import { eventually } from '../support/eventually.ts';
import type { TestService } from '../support/service.ts';
import { type OpenclawWorld, openOpenclawWorld } from './openclaw-world.ts';
import { openRawGateway } from './raw-gateway.ts';

/** A conversation of the owner: its agent may do everything. */
const FULL_RIGHTS = 'agent:main:sealane:n-main:u-admin:a2a-full-rights';

let world: OpenclawWorld;
let service: TestService;

beforeAll(async () => {
  world = await openOpenclawWorld();
  service = await world.service();
  await service.client.send('warm up', { contextId: 'full-rights' });
  writeFileSync(join(world.gateway.workspace, 'inside.txt'), 'kept inside');
});

afterAll(async () => {
  await service?.close();
  await world?.[Symbol.asyncDispose]();
});

let peers = 0;
const peer = (permission: string): Promise<A2aClient> => {
  peers += 1;
  return service.clientOf(`peer-${peers}`, { permission });
};

/** What came of the tools that a caller's text makes the model call. */
const resultsOf = async (client: A2aClient, ...tools: readonly string[]): Promise<string> => {
  const task = await client.send(tools.map((tool) => `TOOL:${tool}`).join('\n'));
  return `${task.status.state} ${answerOf(task)}`;
};

const file = (name: string): string => join(world.gateway.home, name);
const callTool = (id: string, args: object): string => `tool_call ${JSON.stringify({ id, args })}`;

describe.each(['read-only', 'guarded', 'workspace'])('a remote key with the permission %s', (permission) => {
  it('runs no command', async () => {
    const place = file(`exec-${permission}`);
    const results = await resultsOf(await peer(permission), `exec ${JSON.stringify({ command: `touch ${place}` })}`);
    expect(results).toMatch(/exec denied|missing scope: operator\.approvals/i);
    expect(existsSync(place)).toBe(false);
  });

  it('reads and writes nothing outside the workspace', async () => {
    const secret = file(`secret-${permission}`);
    writeFileSync(secret, 'top secret words');
    const place = file(`written-${permission}`);
    const results = await resultsOf(
      await peer(permission),
      `read ${JSON.stringify({ path: secret })}`,
      `write ${JSON.stringify({ path: place, content: 'x' })}`,
      `read ${JSON.stringify({ path: 'inside.txt' })}`,
    );
    expect(results).not.toContain('top secret words');
    expect(results).toContain('kept inside');
    expect(existsSync(place)).toBe(false);
  });

  it('schedules nothing, and changes no setting', async () => {
    const job = {
      action: 'add',
      job: { name: 'evil', schedule: { kind: 'every', everyMs: 60_000 }, payload: { kind: 'agentTurn', message: 'x' } },
    };
    const results = await resultsOf(
      await peer(permission),
      callTool('cron', job),
      callTool('automations', job),
      callTool('gateway', { action: 'config.get' }),
      callTool('openclaw', { request: 'turn everything off' }),
    );
    expect(results.match(/unknown tool|not found/gi)?.length).toBe(4);
  });

  it('has no message tool', async () => {
    const results = await resultsOf(
      await peer(permission),
      callTool('message', { action: 'send', channel: 'a2a', target: 'somebody', message: 'hello' }),
    );
    expect(results).toMatch(/unknown tool|not found/i);
  });

  it('reaches no session with full rights', async () => {
    const place = file(`sent-${permission}`);
    const message = `TOOL:exec ${JSON.stringify({ command: `touch ${place}` })}`;
    const results = await resultsOf(
      await peer(permission),
      callTool('sessions_send', { sessionKey: 'agent:main:main', message, timeoutSeconds: 5 }),
      callTool('sessions_history', { sessionKey: FULL_RIGHTS }),
      callTool('sessions_send', { sessionKey: FULL_RIGHTS, message, timeoutSeconds: 5 }),
    );
    expect(results).toMatch(/forbidden/i);
    expect(results).not.toContain('warm up');
    expect(existsSync(place)).toBe(false);
  });

  it('sends commands of OpenClaw as text, and nothing else', async () => {
    const client = await peer(permission);
    const contextId = `slash-${permission}`;
    await client.send('before', { contextId });
    for (const command of ['/new', '/reset hello', '  /new', '/exec security=full ask=off', '/elevated full']) {
      const task = await client.send(command, { contextId });
      expect(task.status.state).toBe('TASK_STATE_COMPLETED');
      expect(answerOf(task)).toContain(command.trim().slice(1));
    }
    // Had one of them worked, the conversation would have begun anew.
    expect(answerOf(await client.send('after', { contextId }))).toBe('ECHO(turn 7): after');
  });
});

describe('the rights of a session', () => {
  it('follow the key, from the first run on and in both directions', async () => {
    const contextId = 'two-keys';
    const guarded = await service.clientOf('admin', { permission: 'guarded' });
    const full = await service.clientOf('admin', { permission: 'agent-default' });
    const touch = (name: string): string => `TOOL:exec ${JSON.stringify({ command: `touch ${file(name)}` })}`;
    await guarded.send(touch('twin-1'), { contextId });
    expect(existsSync(file('twin-1'))).toBe(false);
    await full.send(touch('twin-2'), { contextId });
    expect(existsSync(file('twin-2'))).toBe(true);
    await guarded.send(touch('twin-3'), { contextId });
    expect(existsSync(file('twin-3'))).toBe(false);
  });

  it('are the caller’s again when another operator has changed, reset or deleted the session between two turns', async () => {
    using operator = await openRawGateway({
      url: world.gateway.url,
      token: world.gateway.token,
      scopes: ['operator.read', 'operator.write', 'operator.admin'],
    });
    const contextId = 'meddled';
    const key = 'agent:main:sealane:n-main:u-meddled:a2a-meddled';
    const client = await service.clientOf('meddled', { permission: 'guarded' });
    const meddlings: readonly (readonly [string, object])[] = [
      ['sessions.patch', { key, permissionMode: null }],
      ['sessions.patch', { key, permissionMode: 'full' }],
      ['sessions.reset', { key }],
      ['sessions.delete', { key }],
      ['sessions.compact', { key }],
    ];
    await client.send('first', { contextId });
    for (const [index, [method, params]] of meddlings.entries()) {
      await operator.request(method, params);
      const place = file(`meddled-${index}`);
      const task = await client.send(`TOOL:exec ${JSON.stringify({ command: `touch ${place}` })}`, { contextId });
      expect(task.status.state, method).toBe('TASK_STATE_COMPLETED');
      expect(existsSync(place), method).toBe(false);
      const { session } = await operator.request<{ session: object }>('sessions.describe', { key });
      expect(session, method).toMatchObject({ permissionMode: 'guarded' });
    }
  });

  it('are not the owner’s for anybody: not even the own key gets the tools of the owner', async () => {
    await service.client.send('look-at-tools');
    const { tools } = world.model.about('look-at-tools')[0] ?? { tools: [] };
    expect(tools).toContain('exec');
    expect(tools).not.toContain('openclaw');
  });

  it('are refused while other sessions are in reach, and given again when they are not', async () => {
    const client = await peer('guarded');
    const place = join(world.gateway.home, 'openclaw.json');
    const safe = readFileSync(place, 'utf8');
    const { tools: _, ...open } = JSON.parse(safe) as Record<string, unknown>;
    writeFileSync(place, JSON.stringify(open));
    await eventually(async () => {
      const task = await client.send('too-open');
      expect(task.status.state).toBe('TASK_STATE_REJECTED');
      expect(statusTextOf(task)).toContain('Set tools.sessions.visibility to "self"');
    }, 60_000);
    expect((await service.client.send('mine')).status.state).toBe('TASK_STATE_COMPLETED');
    await using vouched = await world.service({ connector: { sessionsConfined: true } });
    const other = await vouched.clientOf('vouched', { permission: 'guarded' });
    expect((await other.send('hello')).status.state).toBe('TASK_STATE_COMPLETED');
    writeFileSync(place, safe);
    await eventually(
      async () => expect((await client.send('again')).status.state).toBe('TASK_STATE_COMPLETED'),
      60_000,
    );
  });

  it('are refused where the agent does not serve them', async () => {
    await using strict = await world.service({ connector: { allowedPermissions: ['read-only'] } });
    const client = await strict.clientOf('peer', { permission: 'guarded' });
    const task = await client.send('never-sent');
    expect(task.status.state).toBe('TASK_STATE_REJECTED');
    expect(statusTextOf(task)).toContain('does not serve keys with the permission "guarded"');
    expect(world.model.about('never-sent')).toHaveLength(0);
  });
});

it('leaves nothing behind in its home that a remote key made', () => {
  expect(readdirSync(world.gateway.home).filter((name) => /^(exec|written|sent|meddled)-/.test(name))).toEqual([]);
});
