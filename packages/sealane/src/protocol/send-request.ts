import { hash } from 'node:crypto';

import { type Message, SealaneError } from '#domain';
import { type AgentEntry, type Caller, mayUse, type SendRequest } from '#engine';

import { decodeLastEventId, decodeSendFacts } from './call-headers.ts';
import type { CallContext, ProtocolDeps } from './dialect.ts';
import { requireExtensions } from './extensions/negotiation.ts';
import { noPush } from './push-config.ts';
import type { SendParams } from './request-decoder.ts';

/** What a send of any dialect says, once decoded. */
export type Sending = Pick<SendParams, 'message' | 'metadata' | 'tenant' | 'executor' | 'outputModes' | 'push'> & {
  readonly givenTaskId?: string;
};

type Writable<T> = { -readonly [K in keyof T]: T[K] };

export const callerOf = ({ caller }: CallContext, tenant: string | undefined): Caller => {
  if (tenant === undefined || tenant === caller.tenant) return caller;
  if (caller.tenant !== '') {
    throw new SealaneError('invalid-params', 'tenant is another one than the address says: leave it out.', {
      facts: { field: 'tenant' },
    });
  }
  return { ...caller, tenant };
};

export const streamOptionsOf = ({ headers, signal }: CallContext) => {
  const lastEventId = decodeLastEventId(headers);
  return lastEventId === undefined ? { signal } : { lastEventId, signal };
};

/** The engine's request of a decoded send, after everything that the protocol itself can refuse. */
export const sendRequestOf = (
  sent: Sending,
  dialect: string,
  context: CallContext,
  deps: ProtocolDeps,
): SendRequest | Promise<SendRequest> => {
  if (sent.push !== undefined && !deps.capabilities.pushNotifications) throw noPush();
  const { taskId } = sent.message;
  if (taskId === undefined) {
    const entry = deps.registry.require(context.agent ?? sent.executor, context.caller.agents);
    return requestTo(entry, sent, dialect, context, deps);
  }
  return particularAgentOf(taskId, callerOf(context, sent.tenant), deps).then((entry) =>
    requestTo(entry, sent, dialect, context, deps),
  );
};

const requestTo = (
  entry: AgentEntry | undefined,
  sent: Sending,
  dialect: string,
  context: CallContext,
  { negotiate }: Pick<ProtocolDeps, 'negotiate'>,
): SendRequest => {
  const { message, metadata, push, givenTaskId } = sent;
  const agent = context.agent ?? sent.executor;
  const { agents } = context.caller;
  let { extensions } = context;
  if (entry) {
    const isAddressed = message.taskId === undefined && agent === context.agent;
    if (!isAddressed) extensions = negotiate(entry, context.headers, agents);
    requireExtensions(extensions);
    if (mayUse(agents, entry.name)) requireInputModes(entry, message);
  }
  const facts = decodeSendFacts(context.headers);
  const request: Writable<SendRequest> = { message, dialect, ...facts };
  if (agent !== undefined) request.agent = agent;
  if (metadata !== undefined) request.metadata = metadata;
  if (givenTaskId !== undefined) request.givenTaskId = givenTaskId;
  if (push !== undefined) request.push = push;
  if (sent.outputModes?.length) request.outputModes = sent.outputModes;
  if (extensions.forAgent.length > 0) request.extensions = extensions.forAgent;
  if (facts.idempotencyKey !== undefined) {
    request.bodyHash = bodyHashOf(sent, agent, callerOf(context, sent.tenant).tenant);
  }
  return request;
};

/**
 * A follow-up goes to its task's agent, whatever it names. Which one that is costs a look at the task, so nobody looks
 * where no agent is particular about its messages.
 */
const particularAgentOf = async (
  taskId: string,
  caller: Caller,
  { registry, service }: Pick<ProtocolDeps, 'registry' | 'service'>,
): Promise<AgentEntry | undefined> =>
  registry.list().some(isParticular) ? registry.find((await service.peek(caller, taskId)).agent) : undefined;

const isParticular = ({ inputModes, extensions }: AgentEntry): boolean =>
  !inputModes.includes('*/*') || extensions.length > 0;

/** A part that says what it is must be something that the agent takes. */
const requireInputModes = ({ inputModes, name }: AgentEntry, { parts }: Message): void => {
  if (inputModes.includes('*/*')) return;
  for (const { mediaType } of parts) {
    const type = mediaType?.split(';', 1)[0]?.trim().toLowerCase();
    if (type && !inputModes.some((mode) => mode === type || mode === `${type.split('/', 1)[0]}/*`)) {
      throw new SealaneError(
        'content-type-not-supported',
        `The agent "${name}" takes no "${type.slice(0, 100)}". It takes: ${inputModes.join(', ')}.`,
        { facts: { mediaType: type.slice(0, 100) } },
      );
    }
  }
};

/**
 * What makes two sends the same work: message, metadata and whom they go to. How the answer is wanted (`configuration`)
 * and the JSON-RPC id may differ between a send and its repetition.
 */
const bodyHashOf = ({ message, metadata }: Sending, agent: string | undefined, tenant: string): string =>
  hash('sha256', JSON.stringify([agent ?? null, tenant || null, message, metadata ?? null]), 'hex');
