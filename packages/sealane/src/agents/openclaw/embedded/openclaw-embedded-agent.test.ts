import { once } from 'node:events';

import { describe, expect, it } from 'vitest';

import type { Permission } from '../../agent-connector.ts';
import { SESSION, turnOf, wordsOf } from '../gateway/scripted-agent.fixture.ts';
import { openScriptedRuntime, said } from './scripted-runtime.fixture.ts';

const coded = (code: string): Error => Object.assign(new Error('agent run aborted'), { code });

describe('the rights of a run', () => {
  it.each(['read-only', 'guarded', 'workspace'] as const)('are named in full for %s', async (permission) => {
    const { agent, io, runs, sessions } = openScriptedRuntime(async () => said('hi'));
    await agent.run(turnOf(permission, '/new'), io);
    expect(runs[0]).toMatchObject({
      senderIsOwner: false,
      permissionMode: permission,
      disableMessageTool: true,
      prompt: '\\/new',
      sessionKey: SESSION,
      sessionId: sessions.get(SESSION)?.sessionId,
    });
    expect(runs[0]?.toolsAllow).toContain('read');
    expect(runs[0]?.toolsAllow?.includes('write')).toBe(permission !== 'read-only');
    const powers = /^(\*|group:|sessions|conversations|agents|subagents|message|cron|automations|gateway|openclaw)/;
    expect(runs[0]?.toolsAllow?.filter((name) => powers.test(name))).toEqual([]);
  });

  it('are those of the agent for the operator, who is still not the owner', async () => {
    const { agent, io, runs } = openScriptedRuntime(async () => said('hi'));
    await agent.run(turnOf('agent-default', '/status'), io);
    expect(runs[0]).toMatchObject({ senderIsOwner: false, prompt: '/status' });
    expect(runs[0]).not.toHaveProperty('permissionMode');
    expect(runs[0]).not.toHaveProperty('toolsAllow');
  });

  it('are written to the session before each run, which OpenClaw does not take up by itself', async () => {
    const { agent, io, sessions } = openScriptedRuntime(async () => said('hi'));
    const modes: unknown[] = [];
    for (const permission of ['guarded', 'agent-default', 'read-only'] satisfies Permission[]) {
      await agent.run(turnOf(permission), io);
      modes.push(sessions.get(SESSION)?.permissionMode);
      expect(sessions.get(SESSION)?.spawnDepth).toBe(1);
    }
    expect(modes).toEqual(['guarded', undefined, 'read-only']);
  });

  it('are not given away where OpenClaw does not take them: nothing is run', async () => {
    const { agent, io, runs } = openScriptedRuntime(async () => said('hi'), { takesModes: false });
    await expect(agent.run(turnOf('guarded'), io)).rejects.toThrow('did not take the permission "guarded"');
    expect(runs).toEqual([]);
  });

  it('are kept apart from those of a service beside OpenClaw by the session', () => {
    const { agent } = openScriptedRuntime(async () => said('hi'));
    const scope = { agent: 'main', owner: 'peer', tenant: '', contextId: 'ctx' };
    expect(agent.session(scope)).toBe('agent:main:sealane-plugin:n-main:u-peer:a2a-ctx');
  });
});

describe('the end of a run', () => {
  it('is told with the model, the usage and the text as it grew', async () => {
    const { agent, io, events, listeners } = openScriptedRuntime(async (_, tell) => {
      tell('assistant', { text: 'one', itemId: 'x:1' });
      tell('tool', { phase: 'start', name: 'exec', args: { command: 'secret' } });
      return said('one two', { agentMeta: { provider: 'p', model: 'm' } });
    });
    const end = await agent.run(turnOf('guarded'), io);
    expect(wordsOf(end)).toBe('completed: one two');
    expect(end.metadata).toEqual({ openclaw: { provider: 'p', model: 'm' } });
    expect(events.map(({ kind }) => kind)).not.toContain('status');
    expect(JSON.stringify(events)).not.toMatch(/secret|not ours/);
    expect(listeners.size).toBe(0);
  });

  it('has all words in their order: preambles, and those of a second try within the run, whose count begins anew', async () => {
    const { agent, io } = openScriptedRuntime(async (_, tell) => {
      tell('assistant', { text: 'Looking', itemId: 'first:1' });
      tell('item', { kind: 'preamble', phase: 'end', progressText: 'Looking here.', itemId: 'commentary-1' });
      tell('tool', { phase: 'start', name: 'ls' });
      tell('item', { kind: 'tool', phase: 'end', progressText: 'not a word of it', itemId: 'tool:1' });
      tell('item', { kind: 'preamble', phase: 'end', progressText: 'And there.', itemId: 'commentary-2' });
      tell('tool', { phase: 'start', name: 'ls' });
      tell('assistant', { text: 'Found it.', itemId: 'second:1' });
      return said('Found it.');
    });
    expect(wordsOf(await agent.run(turnOf('guarded'), io))).toBe('completed: Looking here.\n\nAnd there.\n\nFound it.');
  });

  it('is not a failure because of a file that is too large for an event: the file is named', async () => {
    const large = `data:text/plain;base64,${'A'.repeat(1_000_000)}`;
    const { agent, io } = openScriptedRuntime(async () => ({
      payloads: [{ text: 'Here.', mediaUrls: [large] }],
      meta: {},
    }));
    const end = await agent.run(turnOf('guarded'), io);
    expect(wordsOf(end)).toBe('completed: Here.');
    expect(end.metadata).toEqual({ openclaw: { filesNotSent: ['data:text/plain;base64'] } });
  });

  it.each([
    ['that throws', async () => Promise.reject(new Error('HTTP 401')), 'failed: HTTP 401'],
    [
      'that is not complete',
      async () => ({
        payloads: [{ text: 'Half', isError: true }],
        meta: { error: { kind: 'incomplete_turn', message: 'cut off' } },
      }),
      'failed: cut off',
    ],
    ['that is an error', async () => ({ payloads: [{ text: 'No.', isError: true }], meta: {} }), 'failed: No.'],
    ['that was stopped', async () => said('Half', { aborted: true }), 'canceled: The run was stopped in OpenClaw.'],
    [
      'that was stopped there',
      () => Promise.reject(coded('OPENCLAW_DIRECT_ABORT')),
      'canceled: The run was stopped in OpenClaw.',
    ],
    [
      'that OpenClaw could not wait for',
      () => Promise.reject(coded('OPENCLAW_RESTART_ABORT')),
      'failed: OpenClaw was started anew while it worked. Send the message again.',
    ],
    ['that cannot be read', async () => ({ payloads: 'none' }), 'failed: OpenClaw gave an answer that cannot be read.'],
  ])('%s is no success', async (_, script, words) => {
    const { agent, io } = openScriptedRuntime(script);
    expect(wordsOf(await agent.run(turnOf('guarded'), io))).toBe(words);
  });

  it('waits for the approval of a command, and says so', async () => {
    const { agent, io, events } = openScriptedRuntime(async (_, tell) => {
      tell('lifecycle', { phase: 'waiting-approval', approvalId: 'x' });
      return said('done');
    });
    await agent.run(turnOf('guarded'), io);
    expect(JSON.stringify(events[0])).toContain('A command waits for the approval');
  });

  it('after an abort is awaited until OpenClaw says so', async () => {
    const dying = Promise.withResolvers<void>();
    const { agent, io, stop, runs } = openScriptedRuntime(async ({ abortSignal }) => {
      await once(abortSignal, 'abort');
      await dying.promise;
      throw new Error('aborted');
    });
    let isOver = false;
    const run = agent.run(turnOf('guarded'), io).finally(() => (isOver = true));
    while (runs.length === 0) await new Promise(setImmediate);
    stop.abort('canceled');
    await new Promise(setImmediate);
    expect(isOver).toBe(false);
    dying.resolve();
    expect((await run).state).toBe('canceled');
  });

  it('comes early when the agent is closed', async () => {
    const { agent, io, runs } = openScriptedRuntime(async ({ abortSignal }) => {
      await once(abortSignal, 'abort');
      throw new Error('aborted');
    });
    const run = agent.run(turnOf('guarded'), io);
    while (runs.length === 0) await new Promise(setImmediate);
    await agent.close();
    expect(await run).toMatchObject({ state: 'failed', reason: 'unavailable', retryable: true });
  });
});

describe('a Gateway that is about to stop', () => {
  const draining = Object.assign(new Error('gateway is draining'), { name: 'GatewayDrainingError' });

  it('keeps what it does not take any more for its next start', async () => {
    const first = openScriptedRuntime(() => Promise.reject(draining));
    const run = first.agent.run(turnOf('guarded'), first.io);
    while (first.refs.at(-1)?.['hasBegun'] !== false) await new Promise(setImmediate);
    first.stop.abort('shutdown');
    expect(await run).toEqual({ state: 'failed', goesOn: true });
    const next = openScriptedRuntime(async () => said('hi'));
    const ref = first.refs.at(-1) ?? {};
    expect(wordsOf((await next.agent.reattach?.(ref, turnOf('guarded'), next.io)) ?? 'gone')).toBe('completed: hi');
  });

  it('does not repeat what had begun', async () => {
    const { agent, io, refs, runs } = openScriptedRuntime((_, tell) => {
      tell('lifecycle', { phase: 'start' });
      return Promise.reject(draining);
    });
    expect(wordsOf(await agent.run(turnOf('guarded'), io))).toBe('failed: gateway is draining');
    expect(await agent.reattach?.(refs[0] ?? {}, turnOf('guarded'), io)).toBe('gone');
    expect(runs).toHaveLength(1);
  });
});

describe('the health of the agent', () => {
  it('is not good when OpenClaw has it no more, and says what to do', async () => {
    const there = openScriptedRuntime(async () => said('hi'));
    expect(await there.agent.health?.()).toMatchObject({ ok: true });
    const gone = openScriptedRuntime(async () => said('hi'), { hasAgent: false });
    const { ok, detail } = (await gone.agent.health?.()) ?? {};
    expect(ok).toBe(false);
    expect(detail).toMatch(/no agent "main" any more.*openclaw plugins reload a2a-tasks/);
  });
});
