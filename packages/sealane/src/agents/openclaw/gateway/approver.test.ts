import { expect, it } from 'vitest';

import { accepted, openScriptedAgent, RUN, said, SESSION, turnOf, wordsOf } from './scripted-agent.fixture.ts';
import type { ScriptedReply, ScriptedRequest } from './scripted-gateway.fixture.ts';

const asked = (id: string, request: object): object => ({
  id,
  request: { command: `touch ${id}`, runId: RUN, sessionKey: SESSION, ...request },
  createdAtMs: 1000,
  expiresAtMs: 2000,
});

const isApprover = ({ params }: ScriptedRequest): boolean =>
  JSON.stringify(params['scopes']) === '["operator.approvals","operator.admin"]';

it('decides over a connection of its own, over which no run ever goes', async () => {
  const { gateway, agent, io } = await openScriptedAgent(
    ({ method }) => (method === 'agent' ? { ...accepted, final: said('hi') } : undefined),
    { approvals: 'sealane' },
  );
  expect(wordsOf(await agent.run(turnOf('guarded'), io))).toBe('completed: hi');
  const connects = gateway.of('connect');
  expect(connects.map(({ params }) => ({ scopes: params['scopes'], caps: params['caps'] }))).toEqual([
    { scopes: ['operator.read', 'operator.write', 'operator.approvals'], caps: ['tool-events'] },
    { scopes: ['operator.approvals', 'operator.admin'], caps: ['approvals'] },
  ]);
  const approver = connects.find(isApprover)?.connection;
  await agent.approvals?.resolve('none', 'deny');
  const said_ = gateway.requests.filter(({ connection }) => connection === approver).map(({ method }) => method);
  expect(said_).toEqual(['connect', 'exec.approval.list']);
});

it('shows and decides on what runs for tasks of ours wait for, also of other instances, and nothing else', async () => {
  const waiting = [
    asked('ours', {}),
    asked('resumed', { runId: 'made-by-openclaw' }),
    asked('elsewhere', { sessionKey: 'agent:main:main' }),
    asked('other-agent', { sessionKey: 'agent:other:sealane:n-main:u-peer:a2a-ctx' }),
    asked('second', { runId: 'task-7.1.2-3' }),
    { id: 'strange' },
  ];
  const { gateway, agent } = await openScriptedAgent(
    ({ method }) => (method === 'exec.approval.list' ? { payload: waiting } : undefined),
    { approvals: 'sealane' },
  );
  expect(await agent.approvals?.list()).toEqual([
    { id: 'ours', taskId: 'task-1', command: 'touch ours', createdAt: 1000, expiresAt: 2000 },
    { id: 'second', taskId: 'task-7', command: 'touch second', createdAt: 1000, expiresAt: 2000 },
  ]);
  expect(await agent.approvals?.resolve('elsewhere', 'allow-once')).toBe(false);
  expect(gateway.of('exec.approval.resolve')).toEqual([]);
  expect(await agent.approvals?.resolve('ours', 'allow-once')).toBe(true);
  expect(gateway.of('exec.approval.resolve').map(({ params }) => params)).toEqual([
    { id: 'ours', decision: 'allow-once' },
  ]);
});

it('knows the task of a run that OpenClaw took up under an id of its own', async () => {
  const resumed = {
    role: 'user',
    idempotencyKey: 'made-by-openclaw:user',
    provenance: { sourceTool: 'main_session_restart_recovery' },
  };
  const messages = [{ role: 'user', idempotencyKey: `${RUN}:user`, content: 'hello' }, resumed];
  const { agent, io, stop } = await openScriptedAgent(
    ({ method }): ScriptedReply | undefined => {
      if (method === 'chat.history') return { payload: { messages, inFlightRun: { runId: 'made-by-openclaw' } } };
      return method === 'exec.approval.list'
        ? { payload: [asked('resumed', { runId: 'made-by-openclaw' })] }
        : undefined;
    },
    { approvals: 'sealane' },
  );
  const ref = { runId: RUN, sessionKey: SESSION, bootId: 'boot-0' };
  const run = agent.reattach?.(ref, turnOf('agent-default'), io);
  await expect.poll(() => agent.approvals?.list()).toMatchObject([{ id: 'resumed', taskId: 'task-1' }]);
  stop.abort('shutdown');
  await run;
});

it.each([
  ['unknown or expired approval id', false],
  ['approval already resolved', false],
])('that comes too late (%s) says so', async (message, outcome) => {
  const { agent } = await openScriptedAgent(
    ({ method }) => {
      if (method === 'exec.approval.list') return { payload: [asked('ours', {})] };
      return method === 'exec.approval.resolve' ? { error: { code: 'INVALID_REQUEST', message } } : undefined;
    },
    { approvals: 'sealane' },
  );
  expect(await agent.approvals?.resolve('ours', 'deny')).toBe(outcome);
});

it('makes the health of the agent say what the Gateway does not grant, and runs go on without it', async () => {
  const agents = { payload: { agents: [{ id: 'main' }] } };
  const server = { version: 'scripted', bootId: 'boot-1' };
  const granting = (scopes: readonly string[] | undefined) => (request: ScriptedRequest) => {
    if (request.method === 'agents.list') return agents;
    if (request.method === 'agent') return { ...accepted, final: said('hi') };
    if (request.method !== 'connect' || !isApprover(request)) return undefined;
    return scopes
      ? { payload: { server, auth: { scopes } } }
      : { error: { code: 'INVALID_REQUEST', message: 'scopes are not allowed' } };
  };
  const some = await openScriptedAgent(granting(['operator.approvals']), { approvals: 'sealane' });
  expect(await some.agent.health?.()).toMatchObject({
    ok: false,
    detail: expect.stringContaining('does not grant operator.admin') as string,
  });
  const all = await openScriptedAgent(granting(['operator.approvals', 'operator.admin']), { approvals: 'sealane' });
  expect(await all.agent.health?.()).toMatchObject({ ok: true });
  const none = await openScriptedAgent(granting(undefined), { approvals: 'sealane' });
  expect(await none.agent.health?.()).toMatchObject({
    ok: false,
    detail: expect.stringContaining('scopes are not allowed') as string,
  });
  expect(wordsOf(await none.agent.run(turnOf('guarded'), none.io))).toBe('completed: hi');
  await expect(none.agent.approvals?.list()).rejects.toMatchObject({ code: 'unavailable' });
});

it('shows what it can read, and says so when it can read nothing', async () => {
  let payload: unknown = [asked('ours', {}), { ...asked('far', {}), expiresAtMs: 1e300 }, null];
  const { agent } = await openScriptedAgent(
    ({ method }) => (method === 'exec.approval.list' ? { payload } : undefined),
    {
      approvals: 'sealane',
    },
  );
  expect((await agent.approvals?.list())?.map(({ id }) => id)).toEqual(['ours']);
  payload = { approvals: [] };
  await expect(agent.approvals?.list()).rejects.toMatchObject({ code: 'unavailable' });
});

it.each(['deny', 'wait'] as const)('is not there with approvals: %s', async (approvals) => {
  const { agent, gateway } = await openScriptedAgent(() => undefined, { approvals });
  await agent.health?.();
  expect(agent.approvals).toBeUndefined();
  expect(gateway.of('connect').filter(isApprover)).toEqual([]);
});
