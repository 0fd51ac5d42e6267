import { onTestFinished } from 'vitest';

import { textOf } from '#domain';

import type { AgentConnector, Permission, Turn, TurnEnd } from '../../agent-connector.ts';
import { createScriptedIo } from '../scripted-io.fixture.ts';
import type { GatewayInput } from './gateway-options.ts';
import { createOpenclawGatewayAgent } from './openclaw-gateway-agent.ts';
import { openScriptedGateway, type ScriptedReply, type ScriptedRequest } from './scripted-gateway.fixture.ts';

export const RUN = 'task-1.1.1';
export const SESSION = 'agent:main:sealane:n-main:u-peer:a2a-ctx';
export const said = (text: string): object => ({ status: 'ok', result: { payloads: [{ text }], meta: {} } });
export const accepted: ScriptedReply = { payload: { status: 'accepted', runId: RUN } };

export const turnOf = (permission: Permission, text = 'hello'): Turn => ({
  taskId: 'task-1',
  contextId: 'ctx',
  owner: 'peer',
  tenant: '',
  agent: 'main',
  session: SESSION,
  number: 1,
  message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text }] },
  history: async () => [],
  before: async () => undefined,
  references: async () => [],
  metadata: {},
  runId: RUN,
  ancestors: [],
  extensions: [],
  outputModes: [],
  permission,
});

/** A connector before a script, and what a run of it says. */
export const openScriptedAgent = async (
  script: (request: ScriptedRequest) => ScriptedReply | undefined,
  { bootIdOf, ...options }: Partial<GatewayInput> & { bootIdOf?: (connection: number) => string } = {},
) => {
  const gateway = await openScriptedGateway(script, bootIdOf);
  const agent: AgentConnector = createOpenclawGatewayAgent({
    url: gateway.url,
    token: 't',
    resumeWaitMs: 50,
    ...options,
  });
  onTestFinished(async () => {
    await agent.close();
    await gateway[Symbol.asyncDispose]();
  });
  const { io, stop, refs, events } = createScriptedIo();
  /** The artifact as a reader has it who took every chunk. */
  const artifact = (): string =>
    events.reduce((text, event) => {
      if (event.kind !== 'artifact') return text;
      return (event.append === true ? text : '') + textOf(event.artifact.parts);
    }, '');
  return { gateway, agent, io, stop, refs, events, artifact };
};

export const wordsOf = (end: TurnEnd | 'gone'): string =>
  end === 'gone' ? end : `${end.state}: ${textOf(end.message?.parts ?? [])}`;

export const textEvent = (runId: string, piece: number, text: string): object => ({
  runId,
  sessionKey: SESSION,
  stream: 'assistant',
  data: { text, delta: '', itemId: `x:${piece}` },
});

export const lifecycle = (data: object): object => ({ runId: RUN, sessionKey: SESSION, stream: 'lifecycle', data });
