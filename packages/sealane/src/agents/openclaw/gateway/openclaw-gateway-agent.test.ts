import { describe, expect, it } from 'vitest';

import { createOpenclawGatewayAgent } from './openclaw-gateway-agent.ts';
import {
  accepted,
  lifecycle,
  openScriptedAgent,
  RUN,
  said,
  SESSION,
  textEvent,
  turnOf,
  wordsOf,
} from './scripted-agent.fixture.ts';
import { openScriptedGateway } from './scripted-gateway.fixture.ts';

describe('the answer of a run', () => {
  it('replaces what was said when OpenClaw takes it back', async () => {
    const events = [
      textEvent(RUN, 1, 'Let me see'),
      textEvent(RUN, 1, 'Done.'),
      textEvent('somebody-else', 1, 'not ours'),
    ];
    const { agent, io, artifact } = await openScriptedAgent(({ method }) =>
      method === 'agent' ? { ...accepted, events, final: said('Done.') } : undefined,
    );
    expect(wordsOf(await agent.run(turnOf('guarded'), io))).toBe('completed: Done.');
    expect(artifact()).toBe('Done.');
  });

  it('says that the agent is not there any more, in whatever words the Gateway refuses its sessions', async () => {
    const { agent, io } = await openScriptedAgent(({ method }) => {
      if (method === 'agents.list') return { payload: { agents: [{ id: 'work' }] } };
      if (method !== 'sessions.describe') return undefined;
      return { error: { code: 'UNAVAILABLE', message: 'non-canonical persisted row' } };
    });
    const end = await agent.run(turnOf('guarded'), io);
    expect(end).toMatchObject({ state: 'failed', reason: 'bad-config' });
    expect(wordsOf(end)).toContain('OpenClaw has no agent "main"');
  });

  it('has the files of the workspace by the type of their name, and those that are too large by their name alone', async () => {
    const files = { 'facts.json': '{}', 'large.txt': 'x'.repeat(11) };
    const { agent, io, events } = await openScriptedAgent(
      ({ method, params }) => {
        if (method === 'agent')
          return { ...accepted, final: { status: 'ok', result: { payloads: [{ mediaUrls: Object.keys(files) }] } } };
        if (method !== 'agents.workspace.get') return undefined;
        const name = params['path'] as keyof typeof files;
        return { payload: { file: { name, mimeType: 'text/plain', encoding: 'utf8', content: files[name] } } };
      },
      { maxMediaBytes: 10 },
    );
    const end = await agent.run(turnOf('guarded'), io);
    expect(end).toMatchObject({ state: 'completed', metadata: { openclaw: { filesNotSent: ['large.txt'] } } });
    const parts = events.flatMap((event) => (event.kind === 'artifact' ? event.artifact.parts : []));
    expect(parts).toEqual([{ raw: btoa('{}'), mediaType: 'application/json', filename: 'facts.json' }]);
  });

  it('is taken once when the connection breaks and the run ends meanwhile', async () => {
    const messages = [
      { role: 'user', idempotencyKey: `${RUN}:user`, content: 'hello' },
      {
        role: 'assistant',
        content: [{ type: 'text', text: 'one' }],
        stopReason: 'toolUse',
        __openclaw: { runId: RUN },
      },
      { role: 'toolResult', content: 'x' },
      { role: 'assistant', content: [{ type: 'text', text: 'two' }], stopReason: 'stop', __openclaw: { runId: RUN } },
    ];
    const { gateway, agent, io, artifact } = await openScriptedAgent(({ method }) => {
      if (method === 'agent') return { ...accepted, events: [textEvent(RUN, 1, 'one')], breaks: 'after' };
      if (method === 'chat.history') return { payload: { messages } };
      return method === 'agent.wait' ? { payload: { status: 'ok', terminalReply: { text: 'two' } } } : undefined;
    });
    expect(wordsOf(await agent.run(turnOf('guarded'), io))).toBe('completed: one\n\ntwo');
    expect(artifact()).toBe('one\n\ntwo');
    expect(gateway.of('agent')).toHaveLength(1);
  });

  it('is asked for under the same id when the same Gateway may not have heard of the run', async () => {
    const { gateway, agent, io } = await openScriptedAgent(({ method, connection }) => {
      if (method !== 'agent') return undefined;
      return connection === 1 ? { breaks: 'before' } : { ...accepted, final: said('hi') };
    });
    expect(wordsOf(await agent.run(turnOf('guarded'), io))).toBe('completed: hi');
    expect(gateway.of('agent').map(({ params }) => params['idempotencyKey'])).toEqual([RUN, RUN]);
  });

  it('is asked for under a new id when the Gateway crashed before it began', async () => {
    const { gateway, agent, io, refs } = await openScriptedAgent(
      ({ method, connection }) => {
        if (method !== 'agent') return undefined;
        return connection === 1 ? { ...accepted, breaks: 'after' } : { ...accepted, final: said('hi') };
      },
      { bootIdOf: (connection) => `boot-${connection}` },
    );
    expect(wordsOf(await agent.run(turnOf('guarded'), io))).toBe('completed: hi');
    expect(gateway.of('agent').map(({ params }) => params['idempotencyKey'])).toEqual([RUN, `${RUN}-2`]);
    expect(refs.at(-1)).toMatchObject({ runId: `${RUN}-2`, bootId: 'boot-2' });
  });

  it('is asked for with all rights set when Sealane was started anew before the Gateway heard of it', async () => {
    const { gateway, agent, io } = await openScriptedAgent(({ method }) =>
      method === 'agent' ? { ...accepted, final: said('hi') } : undefined,
    );
    const ref = { runId: RUN, sessionKey: SESSION, bootId: 'boot-1' };
    expect(wordsOf((await agent.reattach?.(ref, turnOf('guarded'), io)) ?? 'gone')).toBe('completed: hi');
    expect(gateway.of('sessions.patch')[0]?.params).toEqual({ key: SESSION, permissionMode: 'guarded' });
    expect(gateway.of('agent')[0]?.params).toMatchObject({
      idempotencyKey: RUN,
      message: 'hello',
      disableMessageTool: true,
    });
  });

  it('of a remote key is not that of a run which the Gateway resumed with the message tool', async () => {
    const resumed = {
      role: 'user',
      idempotencyKey: 'resumed:user',
      provenance: { sourceTool: 'main_session_restart_recovery' },
    };
    const messages = [{ role: 'user', idempotencyKey: `${RUN}:user`, content: 'hello' }, resumed];
    let isStopped = false;
    const { gateway, agent, io } = await openScriptedAgent(({ method, params }) => {
      if (method === 'agent') return { ...accepted, final: said('went on') };
      if (method === 'chat.history')
        return { payload: { messages, ...(!isStopped && { inFlightRun: { runId: 'resumed' } }) } };
      if (method !== 'chat.abort' || params['runId'] !== 'resumed') return undefined;
      isStopped = true;
      const data = { phase: 'error', executionSettled: true };
      return { payload: { aborted: true }, events: [{ ...lifecycle(data), runId: 'resumed' }] };
    });
    const ref = { runId: RUN, sessionKey: SESSION, bootId: 'boot-0' };
    expect(wordsOf((await agent.reattach?.(ref, turnOf('guarded'), io)) ?? 'gone')).toBe('completed: went on');
    expect(gateway.of('agent').map(({ params }) => params)).toMatchObject([
      {
        idempotencyKey: `${RUN}-2`,
        message: expect.stringContaining('Go on with it') as string,
        disableMessageTool: true,
      },
    ]);
  });

  it.each([
    ['for all agents', { tools: { deny: ['message'] } }],
    ['for this agent', { agents: { entries: { Main: { tools: { deny: ['exec', 'message'] } } } } }],
    ['for this agent, as older Gateways have it', { agents: { list: [{ id: 'main', tools: { deny: ['message'] } }] } }],
  ])('of a remote key is that of a resumed run where the message tool is denied %s', async (_, denying) => {
    const resumed = {
      role: 'user',
      idempotencyKey: 'resumed:user',
      provenance: { sourceTool: 'main_session_restart_recovery' },
    };
    const messages = [{ role: 'user', idempotencyKey: `${RUN}:user`, content: 'hello' }, resumed];
    const { gateway, agent, io } = await openScriptedAgent(({ method }) => {
      if (method === 'config.get') return { payload: { config: denying, runtimeConfig: denying } };
      if (method === 'chat.history') return { payload: { messages, inFlightRun: { runId: 'resumed' } } };
      return method === 'agent.wait' ? { payload: { status: 'ok', terminalReply: { text: 'went on' } } } : undefined;
    });
    const ref = { runId: RUN, sessionKey: SESSION, bootId: 'boot-0' };
    expect(wordsOf((await agent.reattach?.(ref, turnOf('guarded'), io)) ?? 'gone')).toBe('completed: went on');
    expect(gateway.of('agent')).toEqual([]);
    expect(gateway.of('chat.abort')).toEqual([]);
  });

  it('is gone when the transcript has its question and nothing else, and nobody takes it up', async () => {
    const messages = [{ role: 'user', idempotencyKey: `${RUN}:user`, content: 'hello' }];
    const { gateway, agent, io } = await openScriptedAgent(({ method }) =>
      method === 'chat.history' ? { payload: { messages } } : undefined,
    );
    const ref = { runId: RUN, sessionKey: SESSION, bootId: 'boot-0' };
    expect(await agent.reattach?.(ref, turnOf('guarded'), io)).toBe('gone');
    expect(gateway.of('agent')).toEqual([]);
  });
});

describe('the end of a run from outside', () => {
  it('leaves a run alone whose lease was lost: somebody else has it', async () => {
    const { gateway, agent, io, stop } = await openScriptedAgent(({ method }) =>
      method === 'agent' ? accepted : undefined,
    );
    const run = agent.run(turnOf('guarded'), io);
    await expect.poll(() => gateway.of('agent').length).toBe(1);
    stop.abort('lost');
    expect(wordsOf(await run)).toBe('canceled: ');
    expect(gateway.of('chat.abort')).toEqual([]);
  });

  it('lets go of a run when Sealane stops, and asks nobody about it any more', async () => {
    const { gateway, agent, io, stop, refs } = await openScriptedAgent(({ method }) =>
      method === 'agent' ? accepted : undefined,
    );
    const run = agent.run(turnOf('guarded'), io);
    await expect.poll(() => gateway.of('agent').length).toBe(1);
    const asked = gateway.requests.length;
    stop.abort('shutdown');
    expect(await run).toEqual({ state: 'canceled', goesOn: true });
    expect(gateway.requests).toHaveLength(asked);
    expect(refs).toHaveLength(1);
  });

  it('lets go of a message that no Gateway has heard of, and whoever comes next hands it over at once', async () => {
    const { agent, io, stop, refs, events } = await openScriptedAgent(() => undefined, { url: 'ws://127.0.0.1:9' });
    const run = agent.run(turnOf('guarded'), io);
    await expect.poll(() => events.length).toBe(1);
    stop.abort('shutdown');
    expect(await run).toEqual({ state: 'canceled', goesOn: true });
    expect(refs).toHaveLength(1);

    const next = await openScriptedAgent(
      ({ method }) => (method === 'agent' ? { ...accepted, final: said('hi') } : undefined),
      { resumeWaitMs: 60_000 },
    );
    const [ref = {}] = refs;
    expect(await agent.stop(ref, AbortSignal.timeout(20_000))).toBe('dead');
    expect(wordsOf((await next.agent.reattach?.(ref, turnOf('guarded'), next.io)) ?? 'gone')).toBe('completed: hi');
    expect(next.gateway.of('agent')).toHaveLength(1);
    expect(next.gateway.of('sessions.patch')).toHaveLength(1);
  });

  it('waits for the word that the run is really over', async () => {
    const { gateway, agent, io, stop } = await openScriptedAgent(({ method }) => {
      if (method === 'agent') return accepted;
      const ended = { phase: 'end', status: 'cancelled', aborted: true, startedAt: 1 };
      return method === 'chat.abort' ? { payload: { aborted: true }, events: [lifecycle(ended)] } : undefined;
    });
    let hasEnded = false;
    const run = agent.run(turnOf('guarded'), io).finally(() => (hasEnded = true));
    await expect.poll(() => gateway.of('agent').length).toBe(1);
    stop.abort('canceled');
    await expect.poll(() => gateway.of('chat.abort').length).toBe(1);
    // A request and its answer later the end that was announced has been heard, and was no reason to stop waiting.
    await agent.health?.();
    expect(hasEnded).toBe(false);
    gateway.push(lifecycle({ phase: 'error', error: 'aborted', aborted: true, executionSettled: true }));
    expect(wordsOf(await run)).toBe('canceled: ');
  });

  it('does not wait for a Gateway that is slow to answer before anything has begun', async () => {
    const { gateway, agent, io, stop } = await openScriptedAgent(({ method }) =>
      method === 'sessions.describe' ? { frame: { id: 'another' } } : undefined,
    );
    const run = agent.run(turnOf('guarded'), io);
    await expect.poll(() => gateway.of('sessions.describe').length).toBe(1);
    stop.abort('canceled');
    expect(wordsOf(await run)).toBe('canceled: ');
    expect(gateway.of('agent')).toEqual([]);
  });

  it('cancels the task of a run that another connection began', async () => {
    const { gateway, agent } = await openScriptedAgent(({ method }) => {
      if (method === 'chat.abort') return { error: { code: 'INVALID_REQUEST', message: 'unauthorized' } };
      if (method === 'tasks.list')
        return {
          payload: {
            tasks: [
              { taskId: 't-0', runId: 'x' },
              { taskId: 't-1', runId: RUN },
            ],
          },
        };
      return method === 'tasks.cancel'
        ? {
            payload: { cancelled: true },
            events: [lifecycle({ phase: 'error', executionSettled: true })],
          }
        : undefined;
    });
    const ref = { runId: RUN, sessionKey: SESSION, bootId: 'boot-1' };
    expect(await agent.stop(ref, AbortSignal.timeout(20_000))).toBe('dead');
    expect(gateway.of('tasks.cancel').map(({ params }) => params)).toEqual([{ taskId: 't-1' }]);
  });

  it('does not hold up a connector that closes while the Gateway is down', async () => {
    const gateway = await openScriptedGateway(({ method }) => (method === 'agent' ? accepted : undefined));
    const agent = createOpenclawGatewayAgent({ url: gateway.url, token: 't' });
    const { io } = await openScriptedAgent(() => undefined);
    const run = agent.run(turnOf('guarded'), io);
    await expect.poll(() => gateway.of('agent').length).toBe(1);
    await gateway[Symbol.asyncDispose]();
    await agent.close();
    expect(wordsOf(await run)).toMatch(/^failed: The agent was closed/);
  }, 15_000);

  it('is unknown while the Gateway cannot be reached', async () => {
    const agent = createOpenclawGatewayAgent({ url: 'ws://127.0.0.1:9', token: 't' });
    const ref = { runId: RUN, sessionKey: SESSION, bootId: 'boot-1' };
    expect(await agent.stop(ref, AbortSignal.timeout(300))).toBe('unknown');
    expect(await agent.health?.()).toMatchObject({
      ok: false,
      detail: expect.stringContaining('cannot be reached') as string,
    });
    await agent.close();
  });
});
