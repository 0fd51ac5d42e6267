import type { LookAhead, SessionScope } from '#agents';
import { SealaneError } from '#domain';
import type { Admission, Admitted, CallFacts, NewWebhook, Result, Scope, Slot, StoredTask, TaskFacts } from '#store';

import { type AgentEntry, mayUse } from '../agent-registry.ts';
import type { EngineParts } from '../engine-parts.ts';
import { refusalOf, taskNotFound } from '../service/refusals.ts';
import type { Caller, NewPushConfig, SendRequest } from '../service/task-service.ts';

/** Takes a message in. When the call answers, the message is durable, and its turn may already be running or over. */
export type Intake = (caller: Caller, request: SendRequest) => Promise<TakenIn>;

export interface TakenIn {
  readonly task: StoredTask;
  /** The store already had the message. */
  readonly again: boolean;
  /** The snapshot is current: every later event will reach the subscriber. */
  readonly isCurrent: boolean;
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

interface Entered {
  readonly admitted: Admitted;
  readonly slot: Slot | undefined;
  readonly ahead: LookAhead | undefined;
}

/** A message on its way into the store. */
interface Entering {
  readonly admitted: Promise<Result<Admitted>>;
  readonly ahead?: LookAhead | undefined;
}

const NO_TASK: { readonly id?: string } = {};

/** The key of the lane. It must be a text that is not empty: otherwise turns of different callers could share one. */
const sessionOf = ({ name, connector }: AgentEntry, scope: SessionScope): string => {
  const session: unknown = connector.session(scope);
  if (typeof session === 'string' && session !== '') return session;
  throw new SealaneError(
    'invalid-agent-response',
    `The agent "${name}" gave no session key for the message: session() must answer a string that is not empty.`,
    { facts: { agent: name } },
  );
};

/**
 * Makes messages into turns: of a new task, of the task that the message names, or of the task whose id the caller
 * chose.
 */
export const createIntake = (
  parts: EngineParts,
  callers: {
    readonly scopeOf: (caller: Caller) => Scope;
    readonly requireFacts: (caller: Caller, id: string) => Promise<TaskFacts>;
    readonly webhookOf: (config: NewPushConfig, taskId: string) => NewWebhook;
  },
): Intake => {
  const { store, feed, registry, dispatcher, runs, settings, now, newId } = parts;
  const { scopeOf, requireFacts, webhookOf } = callers;

  const callOf = (caller: Caller, request: SendRequest): CallFacts => {
    const call: Writable<CallFacts> = { permission: caller.permission };
    if (request.traceparent !== undefined) call.traceparent = request.traceparent;
    if (request.ancestors?.length) call.ancestors = request.ancestors;
    if (request.extensions?.length) call.extensions = request.extensions;
    if (request.outputModes?.length) call.outputModes = request.outputModes;
    return call;
  };

  const allowedAgent = (caller: Caller, name: string | undefined): AgentEntry => {
    const entry = registry.require(name, caller.agents);
    if (mayUse(caller.agents, entry.name)) return entry;
    throw new SealaneError('forbidden', `This key may not use the agent "${entry.name}".`, {
      facts: { agent: entry.name },
    });
  };

  /** Takes a slot before the call of the store, and gives it back if the turn has to wait. */
  const withSlot = async (
    agent: string,
    context: { readonly id?: string },
    enter: (slot: Slot | undefined) => Entering,
  ): Promise<Entered> => {
    // Only claims count the runs of an owner. So with a limit of runs per owner, every turn waits for a claim.
    const slot = settings.ownerRunning > 0 ? undefined : dispatcher.reserve(agent);
    let entering: Entering | undefined;
    let result: Result<Admitted> | undefined;
    try {
      entering = enter(slot);
      result = await entering.admitted;
    } finally {
      const isStarted = result?.ok && result.value.run;
      if (!isStarted && slot) dispatcher.release(agent);
    }
    if (!result.ok) {
      parts.observer.refused?.({ agent, why: result.why === 'condition' ? result.name : result.why });
      throw refusalOf(result, { ...context, laneWaiting: settings.laneWaiting });
    }
    return { admitted: result.value, slot, ahead: entering.ahead };
  };

  const limits = { laneWaiting: settings.laneWaiting, ownerWaiting: settings.ownerWaiting };

  const admitNew = (caller: Caller, request: SendRequest, givenId: string | undefined): Promise<Entered> => {
    const entry = allowedAgent(caller, request.agent ?? caller.agent);
    const id = givenId ?? newId();
    const contextId = request.message.contextId ?? newId();
    const { connector } = entry;
    const scope = { owner: caller.owner, tenant: caller.tenant, agent: entry.name, contextId };
    const direct = entry.reply === 'message' || connector.answersDirectly?.(request.message) === true;
    // The answer to a direct call is its message. There is no task that a webhook could be told about.
    const push = request.push && !direct ? webhookOf(request.push, id) : undefined;
    return withSlot(entry.name, NO_TASK, (slot) => {
      const session = sessionOf(entry, scope);
      // In an exclusive store, all writes pass through this process in order. So a run that ended in this lane before
      // our commit had ended before this look.
      const ahead = slot && store.exclusive ? connector.lookAhead?.(session) : undefined;
      const admission: Writable<Admission> = {
        id,
        owner: caller.owner,
        tenant: caller.tenant,
        agent: entry.name,
        contextId,
        dialect: request.dialect,
        session,
        direct,
        message: { ...request.message, contextId, taskId: id },
        metadata: request.metadata ?? {},
        call: callOf(caller, request),
        at: now(),
        limits,
      };
      if (slot) admission.slot = slot;
      if (givenId !== undefined) admission.isIdGiven = true;
      if (push) admission.push = push;
      if (request.idempotencyKey !== undefined) {
        admission.idempotency = { key: request.idempotencyKey, bodyHash: request.bodyHash ?? '' };
      }
      return { admitted: store.admit(admission), ahead };
    });
  };

  const followUp = async (caller: Caller, request: SendRequest, id: string): Promise<Entered> => {
    const task = await requireFacts(caller, id);
    const { message } = request;
    if (message.contextId !== undefined && message.contextId !== task.contextId) {
      throw new SealaneError(
        'invalid-params',
        `Task "${id}" belongs to another context than the message says. Leave contextId out, or correct it.`,
        {
          facts: { field: 'message.contextId' },
        },
      );
    }
    const entry = allowedAgent(caller, task.agent);
    const push = request.push && { ...webhookOf(request.push, id), isRepeatable: request.push.id === undefined };
    return await withSlot(entry.name, { id }, (slot) => ({
      admitted: store.follow({
        scope: scopeOf(caller),
        id,
        message: { ...message, contextId: task.contextId, taskId: id },
        // The metadata of a new task belongs to the task. The metadata of a follow-up belongs to its turn.
        call: { ...callOf(caller, request), ...(request.metadata && { metadata: request.metadata }) },
        at: now(),
        limits,
        steerable: entry.connector.steerable === true,
        taskBytes: settings.taskBytes,
        ...(push && { push }),
        ...(slot && { slot }),
      }),
    }));
  };

  /** For a caller that names its tasks itself: continues the task with this id, or creates it if there is none. */
  const continueOrAdmit = async (caller: Caller, request: SendRequest, id: string): Promise<Entered> => {
    if (await store.peek(scopeOf(caller), id)) return await followUp(caller, request, id);
    try {
      return await admitNew(caller, request, id);
    } catch (error) {
      if (!(error instanceof SealaneError) || error.code !== 'idempotency-conflict') throw error;
      // Another call won the race for the id: of the same caller, or of one whose task this caller must not learn of.
      if (await store.peek(scopeOf(caller), id)) return await followUp(caller, request, id);
      throw request.idempotencyKey === undefined ? taskNotFound(id) : error;
    }
  };

  const enter = (caller: Caller, request: SendRequest): Promise<Entered> => {
    const { message, givenTaskId } = request;
    if (message.taskId !== undefined) return followUp(caller, request, message.taskId);
    if (givenTaskId !== undefined) return continueOrAdmit(caller, request, givenTaskId);
    return admitNew(caller, request, undefined);
  };

  return async (caller, request) => {
    if (parts.isStopping()) {
      throw new SealaneError('unavailable', 'The service is stopping. Try again in a moment.', { retryAfterMs: 5000 });
    }
    parts.arrivals.begin();
    try {
      for (const id of new Set(request.message.referenceTaskIds)) await requireFacts(caller, id);
      const { admitted, slot, ahead } = await enter(caller, request);
      const { task, events, again, run } = admitted;
      feed.publish(task.id, events);
      runs.observe(task.id, events);
      if (!again) parts.observer.admitted?.({ agent: task.agent, isQueued: !run });
      if (run && slot) parts.begin(run, slot.instance, ahead);
      return { task, again, isCurrent: !again };
    } finally {
      parts.arrivals.end();
    }
  };
};
