import { setTimeout as delay } from 'node:timers/promises';

import { describe, expect, it } from 'vitest';

import { accepted, openScriptedAgent, RUN, said, SESSION, turnOf, wordsOf } from './scripted-agent.fixture.ts';
import type { ScriptedReply, ScriptedRequest } from './scripted-gateway.fixture.ts';

describe('the rights of a run', () => {
  it('are those of a reader and a writer, never those of an administrator', async () => {
    const { gateway, agent, io } = await openScriptedAgent(({ method }) =>
      method === 'agent' ? { ...accepted, final: said('hi') } : undefined,
    );
    expect(wordsOf(await agent.run(turnOf('guarded'), io))).toBe('completed: hi');
    expect(gateway.of('connect')[0]?.params).toMatchObject({ scopes: ['operator.read', 'operator.write'] });
  });

  it('are set and remembered before the Gateway hears of the run', async () => {
    const { gateway, agent, io, refs } = await openScriptedAgent(({ method }) => {
      if (method === 'agent') return { ...accepted, final: said('hi') };
      return undefined;
    });
    await agent.run(turnOf('read-only', '/new'), io);
    expect(gateway.requests.map(({ method }) => method)).toEqual([
      'connect',
      'sessions.describe',
      'config.get',
      'sessions.patch',
      'agent',
    ]);
    expect(gateway.of('sessions.patch')[0]?.params).toEqual({ key: SESSION, permissionMode: 'read-only' });
    expect(gateway.of('agent')[0]?.params).toEqual({
      message: '\\/new',
      sessionKey: SESSION,
      idempotencyKey: RUN,
      deliver: false,
      expectedExistingSessionId: 'session-1',
      disableMessageTool: true,
    });
    expect(refs).toEqual([{ runId: RUN, sessionKey: SESSION, bootId: 'boot-1', goesOn: false }]);
  });

  it.each([
    ['stays as it was', { ok: true, entry: { sessionId: 's', permissionMode: null } }],
    ['is not mentioned', { ok: true }],
  ])('refuse the task when the mode %s', async (_, payload) => {
    const { gateway, agent, io } = await openScriptedAgent(({ method }) =>
      method === 'sessions.patch' ? { payload } : undefined,
    );
    expect(wordsOf(await agent.run(turnOf('guarded'), io))).toMatch(
      /^rejected: OpenClaw did not take the permission "guarded"/,
    );
    expect(gateway.of('agent')).toEqual([]);
  });

  it('refuse callers other than the owner while the Gateway shows no configuration and nobody vouches for it', async () => {
    const script = ({ method }: ScriptedRequest): ScriptedReply | undefined => {
      if (method === 'config.get') return { error: { code: 'FORBIDDEN', message: 'missing scope' } };
      return method === 'agent' ? { ...accepted, final: said('hi') } : undefined;
    };
    const strict = await openScriptedAgent(script);
    expect(wordsOf(await strict.agent.run(turnOf('guarded'), strict.io))).toMatch(
      /^rejected: .*tools\.sessions\.visibility/,
    );
    expect(wordsOf(await strict.agent.run(turnOf('agent-default'), strict.io))).toBe('completed: hi');
    const vouched = await openScriptedAgent(script, { sessionsConfined: true });
    expect(wordsOf(await vouched.agent.run(turnOf('guarded'), vouched.io))).toBe('completed: hi');
  });

  it('are looked at once when that was asked ahead, over the same connection and a moment ago', async () => {
    const { gateway, agent, io } = await openScriptedAgent(({ method }) =>
      method === 'agent' ? { ...accepted, final: said('hi') } : undefined,
    );
    expect(agent.lookAhead?.(SESSION)).toBeUndefined();
    await agent.health?.();
    const ahead = agent.lookAhead?.(SESSION);
    await agent.run(turnOf('guarded'), io, ahead);
    expect(gateway.of('sessions.describe').map(({ params }) => params)).toEqual([{ key: SESSION }]);
    expect(gateway.of('sessions.patch')).toHaveLength(1);
    // What somebody else made is no look.
    await agent.run(turnOf('guarded'), io, { ...ahead });
    expect(gateway.of('sessions.describe')).toHaveLength(2);
  });

  it('are looked at again when the look ahead was over a connection that broke, or took long', async () => {
    const { gateway, agent, io } = await openScriptedAgent(({ method, connection }) => {
      if (method === 'sessions.describe' && connection === 1) return { breaks: 'before' };
      return method === 'agent' ? { ...accepted, final: said('hi') } : undefined;
    });
    await agent.health?.();
    const ahead = agent.lookAhead?.(SESSION);
    await expect.poll(() => gateway.of('sessions.describe').length).toBe(1);
    expect(wordsOf(await agent.run(turnOf('guarded'), io, ahead))).toBe('completed: hi');
    expect(gateway.of('sessions.describe').map(({ connection }) => connection)).toEqual([1, 2]);

    const late = agent.lookAhead?.(SESSION);
    await delay(300);
    await agent.run(turnOf('guarded'), io, late);
    expect(gateway.of('sessions.describe')).toHaveLength(4);
  });

  it('are set anew when the session was reset just before the run', async () => {
    let calls = 0;
    const { gateway, agent, io } = await openScriptedAgent(({ method }) => {
      if (method === 'sessions.patch')
        return { payload: { ok: true, entry: { sessionId: `session-${calls}`, permissionMode: 'guarded' } } };
      if (method !== 'agent') return undefined;
      calls += 1;
      if (calls > 1) return { ...accepted, final: said('hi') };
      return { error: { code: 'UNAVAILABLE', message: 'Session "x" changed before expected work could start.' } };
    });
    expect(wordsOf(await agent.run(turnOf('guarded'), io))).toBe('completed: hi');
    expect(gateway.of('agent').map(({ params }) => params['expectedExistingSessionId'])).toEqual([
      'session-0',
      'session-1',
    ]);
  });
});
