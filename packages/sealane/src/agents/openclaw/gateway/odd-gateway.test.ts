import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

import { describe, expect, it, onTestFinished } from 'vitest';

import { textOf } from '#domain';

import { agentEventOf } from './agent-event.ts';
import { createOpenclawGatewayAgent } from './openclaw-gateway-agent.ts';
import {
  accepted,
  openScriptedAgent,
  RUN,
  said,
  SESSION,
  textEvent,
  turnOf,
  wordsOf,
} from './scripted-agent.fixture.ts';
import type { ScriptedReply } from './scripted-gateway.fixture.ts';

const eventOf = (stream: string, data: object): object => ({ runId: RUN, sessionKey: SESSION, stream, data });

describe('a Gateway with other words than we know', () => {
  it.each(['__proto__', 'constructor', '__defineGetter__', 'toString', 'something-new'])(
    'says nothing to us in the stream %s',
    (stream) => {
      expect(agentEventOf(eventOf(stream, { kind: 'text' }))).toBeUndefined();
    },
  );

  it('is understood where it says null for what it does not have', async () => {
    const frame = { error: null };
    const server = { version: 'odd', bootId: null };
    const events = [
      eventOf('assistant', { text: 'fine', itemId: null, mediaUrls: null }),
      eventOf('lifecycle', { phase: 'end', executionSettled: null, error: null, aborted: null }),
    ];
    const meta = {
      durationMs: null,
      error: null,
      aborted: null,
      agentMeta: { model: 'echo', provider: null, usage: 7 },
    };
    const final = { status: 'ok', summary: null, stopReason: null, result: { payloads: [{ text: 'fine' }], meta } };
    const { agent, io } = await openScriptedAgent(({ method }): ScriptedReply | undefined => {
      if (method === 'connect') return { payload: { auth: null, policy: null, server }, frame };
      return method === 'agent' ? { ...accepted, frame, events, final } : undefined;
    });
    const end = await agent.run(turnOf('guarded'), io);
    expect(wordsOf(end)).toBe('completed: fine');
    expect(end.metadata).toEqual({ openclaw: { model: 'echo' } });
  });

  it('is heard when it refuses without a reason that we can read', async () => {
    const { agent, io } = await openScriptedAgent(({ method }) =>
      method === 'agent' ? { frame: { ok: false, error: 'not today' } } : undefined,
    );
    expect(wordsOf(await agent.run(turnOf('guarded'), io))).toMatch(/^failed: OpenClaw refused the message/);
  });

  it('fails the task in words for people when an answer that counts cannot be read', async () => {
    const { agent, io } = await openScriptedAgent(({ method }) =>
      method === 'sessions.describe' ? { payload: null } : undefined,
    );
    expect(wordsOf(await agent.run(turnOf('guarded'), io))).toMatch(/^failed: OpenClaw answered in a way that Sealane/);
  });

  it('is not taken for dead when it claims to be heard without a pause', async () => {
    let waits = 0;
    const policy = { tickIntervalMs: 0.01 };
    const { gateway, agent, io } = await openScriptedAgent(({ method }) => {
      if (method === 'connect') return { payload: { server: { version: 'odd' }, policy } };
      if (method === 'agent') return { payload: { status: 'in_flight' } };
      if (method !== 'agent.wait') return undefined;
      waits += 1;
      return { payload: waits < 2 ? { status: 'timeout' } : { status: 'ok' } };
    });
    await agent.run(turnOf('guarded'), io);
    expect(gateway.of('connect')).toHaveLength(1);
  });
});

describe('a Gateway that does not keep its side', () => {
  it('and closes every connection soon is asked less and less often', async () => {
    const fourth = Promise.withResolvers<void>();
    const { agent, io, stop } = await openScriptedAgent(({ method, connection }) => {
      if (method === 'connect' && connection === 4) fourth.resolve();
      return method === 'sessions.describe' ? { breaks: 'before' } : undefined;
    });
    const since = performance.now();
    const end = agent.run(turnOf('guarded'), io);
    await fourth.promise;
    stop.abort('cancel');
    expect((await end).state).toBe('canceled');
    // 100, 200 and 400 ms.
    expect(performance.now() - since).toBeGreaterThan(650);
  });

  it('and does not wait when it is asked to is not asked without a pause', async () => {
    let waits = 0;
    const { agent, io } = await openScriptedAgent(({ method }) => {
      if (method === 'agent') return { payload: { status: 'in_flight' } };
      if (method !== 'agent.wait') return undefined;
      waits += 1;
      return { payload: waits < 4 ? { status: 'timeout' } : { status: 'ok', terminalReply: { text: 'done' } } };
    });
    const since = performance.now();
    expect(wordsOf(await agent.run(turnOf('guarded'), io))).toBe('completed: done');
    expect(performance.now() - since).toBeGreaterThan(700);
  });

  it('and never lets us in is named by its address when the health is asked for', async () => {
    const { agent, gateway } = await openScriptedAgent(
      ({ method }) => (method === 'connect' ? { frame: { id: 'another' } } : undefined),
      { connectTimeoutMs: 100 },
    );
    expect(await agent.health?.()).toEqual({
      ok: false,
      detail: expect.stringContaining(`${gateway.url} did not`) as string,
    });
  });
});

it('a connector that closes does not stay for a Gateway that lets nobody in', async () => {
  const silent = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void silent.close());
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const agent = createOpenclawGatewayAgent({ url: `ws://127.0.0.1:${port}`, token: 't', connectTimeoutMs: 60_000 });
  const knocked = once(silent, 'connection');
  const health = agent.health?.();
  const [socket] = (await knocked) as [Socket];
  socket.resume();
  const left = once(socket, 'close');
  await agent.close();
  await left;
  expect(await health).toMatchObject({ ok: false });
});

describe('a message that is larger than the Gateway takes', () => {
  it('is refused, and the connection stays', async () => {
    const policy = { maxPayload: 4000 };
    const { gateway, agent, io } = await openScriptedAgent(({ method }) => {
      if (method === 'connect') return { payload: { server: { version: 'scripted' }, policy } };
      return method === 'agent' ? { ...accepted, final: said('hi') } : undefined;
    });
    expect(wordsOf(await agent.run(turnOf('guarded', 'ä'.repeat(2000)), io))).toMatch(/^failed: .* at most 4000 bytes/);
    expect(wordsOf(await agent.run(turnOf('guarded', 'ä'.repeat(1000)), io))).toBe('completed: hi');
    expect(gateway.of('connect')).toHaveLength(1);
    expect(gateway.of('agent')).toHaveLength(1);
  });
});

describe('an answer', () => {
  it('has no half characters, wherever OpenClaw cuts it', async () => {
    const whole = `a${'😀'.repeat(10_000)}`;
    const { agent, io, gateway, events, artifact } = await openScriptedAgent(({ method }) =>
      method === 'agent' ? { ...accepted, events: [textEvent(RUN, 1, whole.slice(0, 20))] } : undefined,
    );
    const end = agent.run(turnOf('guarded'), io);
    await expect.poll(artifact).toBe(whole.slice(0, 19));
    gateway.push(textEvent(RUN, 1, whole));
    await expect.poll(artifact).toBe(whole);
    await agent.close();
    await end;
    const texts = events.flatMap((event) => (event.kind === 'artifact' ? [textOf(event.artifact.parts)] : []));
    expect(texts.every((text) => text.isWellFormed())).toBe(true);
  });

  it('is repeated in the last status up to a whole character', async () => {
    const { agent, io } = await openScriptedAgent(({ method }) =>
      method === 'agent' ? { ...accepted, final: said(`a${'😀'.repeat(10_000)}`) } : undefined,
    );
    const { message } = await agent.run(turnOf('guarded'), io);
    expect(textOf(message?.parts ?? [])).toBe(`a${'😀'.repeat(8191)}`);
  });

  it('of any length is told in events that the service takes, and so are its files', async () => {
    const text = 'long '.repeat(400_000);
    const files = ['A', 'B', 'C'].map((letter) => `data:image/png;base64,${letter.repeat(400_000)}`);
    const final = { status: 'ok', result: { payloads: [{ text, mediaUrls: files }] } };
    const { agent, io, events, artifact } = await openScriptedAgent(({ method }) =>
      method === 'agent' ? { ...accepted, final } : undefined,
    );
    expect((await agent.run(turnOf('guarded'), io)).state).toBe('completed');
    expect(artifact()).toBe(text.trim());
    const sizes = events.map((event) => JSON.stringify(event).length);
    expect(Math.max(...sizes)).toBeLessThan(500_000);
    expect(events.filter((event) => event.kind === 'artifact' && event.lastChunk === true)).toHaveLength(1);
  });
});

describe('what is too large to be told', () => {
  it.each<ScriptedReply>([
    { final: { status: 'error', summary: `no ${'😀'.repeat(1_000_000)}` } },
    { frame: { ok: false, error: { code: 'INVALID_REQUEST', message: `no ${'😀'.repeat(1_000_000)}` } } },
  ])('is told up to a whole character when it is why a task failed', async (reply) => {
    const { agent, io } = await openScriptedAgent(({ method }) =>
      method === 'agent' ? { ...accepted, ...reply } : undefined,
    );
    const words = wordsOf(await agent.run(turnOf('guarded'), io));
    expect(words).toMatch(/^failed: .*no 😀/);
    expect(words.length).toBeLessThan(20_000);
    expect(words.isWellFormed()).toBe(true);
  });

  it('is left out of the names of tools, and of files that are not sent', async () => {
    const mediaUrls = [
      `data:image/png,${'A'.repeat(50_000)}`,
      'data:image/png;base64,@@@@',
      `/etc/${'x'.repeat(50_000)}`,
    ];
    const tool = eventOf('tool', { phase: 'start', name: 'x'.repeat(50_000) });
    const final = { status: 'ok', result: { payloads: [{ text: 'fine', mediaUrls }] } };
    const { agent, io, events } = await openScriptedAgent(({ method }) =>
      method === 'agent' ? { ...accepted, events: [tool], final } : undefined,
    );
    const { state, metadata } = await agent.run(turnOf('agent-default'), io);
    expect(state).toBe('completed');
    expect(metadata).toMatchObject({
      openclaw: { filesNotSent: ['data:image/png', 'data:image/png;base64', 'x'.repeat(300)] },
    });
    expect(JSON.stringify(events).length).toBeLessThan(1000);
  });
});

it.each(['connectTimeoutMs', 'requestTimeoutMs', 'resumeWaitMs', 'timeoutSeconds'])(
  'an agent with a longer %s than a timer can have is refused',
  (name) => {
    expect(() => createOpenclawGatewayAgent({ token: 't', [name]: 3_000_000_000 })).toThrow(name);
  },
);
