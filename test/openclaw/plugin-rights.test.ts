import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type A2aClient, answerOf, refusalOf, statusTextOf, type WireTask } from '../support/a2a-client.ts';
import { eventually } from '../support/eventually.ts';
import { ATTEMPTS, COMMANDS, LISTED_ATTEMPTS, SECRET } from './attempts.ts';
import { openPluginWorld, type PluginWorld } from './plugin-world.ts';
import { openRawGateway } from './raw-gateway.ts';

/** A conversation of the owner: its agent may do everything. */
const FULL_RIGHTS = 'agent:main:sealane-plugin:n-main:u-admin:a2a-full-rights';

let world: PluginWorld;

beforeAll(async () => {
  // Nothing in OpenClaw's own configuration confines anybody.
  world = await openPluginWorld({ config: () => ({ tools: {} }) });
  await world.client.send(SECRET, { contextId: 'full-rights' });
  writeFileSync(file('secret'), SECRET);
  writeFileSync(join(world.gateway.workspace, 'inside.txt'), 'kept inside');
});

afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

const file = (name: string): string => join(world.gateway.home, name);

let peers = 0;
const peer = (permission: string): Promise<A2aClient> => {
  peers += 1;
  return world.clientOf(`peer-${peers}`, { permission });
};

/** Results of the tools, one by one: the model repeats them all, so the last call of a turn knows them. */
const resultsOf = (text: string): readonly string[] => world.model.about(text).at(-1)?.toolResults ?? [];

describe.each(['read-only', 'guarded', 'workspace'])('a remote key with the permission %s', (permission) => {
  it.each([...ATTEMPTS, ...LISTED_ATTEMPTS])('$promise', async ({ tools, effect, secret, refusal }) => {
    const mark = `${permission} ${peers}`;
    const lines = tools({ file, fullRights: FULL_RIGHTS, localUrl: `${world.model.url}/models` });
    const task = await (await peer(permission)).send(`attempt ${mark}\n${lines.join('\n')}`);
    expect(task.status.state).toBe('TASK_STATE_COMPLETED');
    const results = resultsOf(`attempt ${mark}`);
    expect(results).toHaveLength(lines.length);
    for (const result of results) expect(result).toMatch(refusal);
    if (effect !== undefined) expect(existsSync(file(effect))).toBe(false);
    if (secret !== undefined) expect(results.join('\n')).not.toContain(secret);
    expect(readFileSync(file('secret'), 'utf8')).toBe(SECRET);
  });

  it('works in the workspace as far as it may', async () => {
    const client = await peer(permission);
    const name = `made-by-${permission}.txt`;
    await client.send(
      `look ${permission}\nTOOL:read {"path":"inside.txt"}\nTOOL:write {"path":"${name}","content":"x"}`,
    );
    expect(resultsOf(`look ${permission}`)[0]).toContain('kept inside');
    expect(existsSync(join(world.gateway.workspace, name))).toBe(permission !== 'read-only');
  });

  it('sends commands of OpenClaw as text, and nothing else', async () => {
    const client = await peer(permission);
    const contextId = `slash-${permission}`;
    await client.send('before', { contextId });
    for (const command of COMMANDS) {
      const task = await client.send(command, { contextId });
      expect(task.status.state).toBe('TASK_STATE_COMPLETED');
      expect(answerOf(task)).toContain(command.trim().slice(1));
    }
    // Had one of them worked, the conversation would have begun anew.
    expect(answerOf(await client.send('after', { contextId }))).toBe(`ECHO(turn ${COMMANDS.length + 2}): after`);
  });
});

describe('the rights of a session', () => {
  it('follow the key, from the first run on and in both directions', async () => {
    const contextId = 'two-keys';
    const guarded = await world.clientOf('admin', { permission: 'guarded' });
    const touch = (name: string): string => `TOOL:exec ${JSON.stringify({ command: `touch ${file(name)}` })}`;
    const send = (client: A2aClient, name: string): Promise<WireTask> => client.send(touch(name), { contextId });
    await send(guarded, 'twin-1');
    expect(existsSync(file('twin-1'))).toBe(false);
    await send(world.client, 'twin-2');
    expect(existsSync(file('twin-2'))).toBe(true);
    await send(guarded, 'twin-3');
    expect(existsSync(file('twin-3'))).toBe(false);
  });

  it('are not the owner’s for anybody: not even the own key gets the tools of the owner', async () => {
    await world.client.send('look-at-tools');
    const { tools } = world.model.about('look-at-tools')[0] ?? { tools: [] };
    expect(tools).toContain('exec');
    expect(tools).not.toContain('openclaw');
  });
});

describe('a command that needs an approval', () => {
  it('waits for an operator of OpenClaw who is there; the caller cannot approve it', async () => {
    using operator = await openRawGateway({
      url: world.gateway.url,
      token: world.gateway.token,
      scopes: ['operator.read', 'operator.write', 'operator.approvals', 'operator.admin'],
      caps: ['approvals'],
    });
    const requested = operator.event<{ readonly id: string }>((name) => name === 'exec.approval.requested');
    const caller = await peer('guarded');
    const task = await caller.submit(`TOOL:exec ${JSON.stringify({ command: `touch ${file('approved')}` })}`);
    const { id } = await requested;
    await eventually(async () =>
      expect(statusTextOf(await caller.get(task.id))).toContain('waits for the approval of an operator of OpenClaw'),
    );
    expect((await refusalOf(caller.send('I approve it.', { taskId: task.id }))).message).toContain(
      'accepts no message while it works',
    );
    expect(existsSync(file('approved'))).toBe(false);
    await operator.request('exec.approval.resolve', { id, decision: 'allow-once' });
    await eventually(async () => expect((await caller.get(task.id)).status.state).toBe('TASK_STATE_COMPLETED'), 30_000);
    expect(existsSync(file('approved'))).toBe(true);
  });
});

it('leaves nothing behind that a remote key made', () => {
  expect(readdirSync(world.gateway.home).filter((name) => name.startsWith('made-by-'))).toEqual([]);
});

// Last, because it does what nobody else could.
it('is what the same attempts of the owner are not stopped by', async () => {
  const mine = (name: string): string => file(`owned-${name}`);
  writeFileSync(mine('secret'), SECRET);
  const effects = ATTEMPTS.filter(({ effect, secret }) => effect !== undefined || secret !== undefined);
  const lines = effects.flatMap(({ tools }) => tools({ file: mine, fullRights: FULL_RIGHTS, localUrl: '' }));
  await world.client.send(`all of it\n${lines.join('\n')}`);
  expect(resultsOf('all of it').join('\n')).toContain(SECRET);
  for (const { effect } of effects) if (effect !== undefined) expect(existsSync(mine(effect))).toBe(true);
});
