import { type Event, isSettled, isTerminal, SealaneError, type Seq } from '#domain';
import type { Finished, Scope, StoredTask, TaskFacts } from '#store';

import { directReplyOf } from './direct-reply.ts';
import type { EngineParts } from '../engine-parts.ts';
import type { Reader, Waiting } from '../feed/feed.ts';
import { createIntake } from '../admission/intake.ts';
import { logPages, sizeOfAll } from '../feed/log-pages.ts';
import { createPushConfigs, createWebhookOf } from './push-configs.ts';
import type { FeedEvent } from '../feed/recent-events.ts';
import { refusalOf, taskNotFound } from './refusals.ts';
import type { Caller, StreamItem, TaskIdentity, TaskService } from './task-service.ts';

interface StreamOptions {
  first?: StreamItem | undefined;
  readonly isCurrent: boolean;
  readonly isLast: (event: FeedEvent) => boolean;
  readonly signal: AbortSignal;
}

/** About how much of a log one call without a stream reads. */
const EVENTS_BYTES = 4 * 1024 * 1024;

/**
 * The operations of A2A over the engine's parts. Each operation is either refused as a whole, or durable when it
 * answers.
 */
export const createTaskService = (parts: EngineParts): TaskService => {
  const { store, feed, runs, settings, now } = parts;

  const scopeOf = ({ owner, tenant, agent }: Caller): Scope => ({
    owner,
    tenant,
    ...(agent !== undefined && { agent }),
  });

  const requireTask = async (caller: Caller, id: string): Promise<StoredTask> => {
    const task = await store.find(scopeOf(caller), id);
    if (!task) throw taskNotFound(id);
    return task;
  };

  /** For operations that need the task without its content. */
  const requireFacts = async (caller: Caller, id: string): Promise<TaskFacts> => {
    const facts = await store.peek(scopeOf(caller), id);
    if (!facts) throw taskNotFound(id);
    return facts;
  };

  const webhookOf = createWebhookOf(parts.newId, parts.checkWebhook);
  const takeIn = createIntake(parts, { scopeOf, requireFacts, webhookOf });

  const tellEnd = (id: string, { task, events }: Finished): void => {
    feed.publish(id, events, task);
    parts.observer.taskEnded?.({ agent: task.agent, taskId: id, state: task.state, reason: 'canceled' });
  };

  /** Answers the task when its turn has ended or asks something, or the task as it is when the time is up. */
  const awaitSettled = async (caller: Caller, task: StoredTask, options: Waiting): Promise<StoredTask> => {
    const settled = await feed.settled(scopeOf(caller), task.id, task.seq, options);
    if (settled) return settled;
    return options.signal.aborted || parts.signal.aborted ? task : await requireTask(caller, task.id);
  };

  /**
   * The items of a stream, up to `isLast`. `first` comes before them, and its memory is freed then: a stream may last
   * for days.
   */
  async function* itemsOf(
    reader: Reader,
    task: TaskIdentity,
    after: Seq,
    options: StreamOptions,
  ): AsyncGenerator<StreamItem, void, undefined> {
    try {
      if (options.first) yield options.first;
      options.first = undefined;
      for await (const item of reader.events(after, options.signal, options.isCurrent)) {
        yield { kind: 'event', seq: item.event.seq, event: item.event, task, frames: item.frames };
        if (options.isLast(item)) return;
      }
    } finally {
      reader[Symbol.dispose]();
    }
  }

  const streamOf = (
    reader: Reader,
    { id, contextId }: TaskIdentity,
    after: Seq,
    options: StreamOptions,
  ): AsyncIterable<StreamItem> => {
    // A reader that leaves before its first item never begins the iteration, so the `finally` of `itemsOf` would not
    // run.
    const leave = (): void => reader[Symbol.dispose]();
    if (options.signal.aborted) leave();
    else options.signal.addEventListener('abort', leave, { once: true });
    return itemsOf(reader, { id, contextId }, after, options);
  };

  async function* directStream(
    caller: Caller,
    task: StoredTask,
    options: Waiting,
  ): AsyncGenerator<StreamItem, void, undefined> {
    const settled = isSettled(task.state) ? task : await awaitSettled(caller, task, options);
    const message = directReplyOf(settled);
    yield message ? { kind: 'message', message } : { kind: 'task', seq: settled.seq, task: settled };
  }

  const checkedEventId = (lastEventId: Seq, task: TaskFacts): Seq => {
    if (lastEventId <= task.seq) return lastEventId;
    throw new SealaneError(
      'invalid-params',
      `Last-Event-ID ${lastEventId} is later than the task's last event ${task.seq}.`,
      {
        facts: { field: 'Last-Event-ID' },
      },
    );
  };

  return {
    send: async (caller, request, { wait, waitMs = settings.waitMs, signal = never() }) => {
      const { task, again, isCurrent } = await takeIn(caller, request);
      const isDone = (again && isSettled(task.state)) || (!wait && !task.direct);
      const settled = isDone ? task : await awaitSettled(caller, task, { waitMs, signal, isCurrent });
      const message = directReplyOf(settled);
      return message ? { kind: 'message', message } : { kind: 'task', task: settled };
    },

    stream: async (caller, request, { lastEventId, signal = never() } = {}) => {
      const { task, again, isCurrent } = await takeIn(caller, request);
      if (task.direct) return directStream(caller, task, { waitMs: settings.waitMs, signal, isCurrent });
      const reader = feed.attach(scopeOf(caller), task.id);
      const resumeAt = again && lastEventId !== undefined ? checkedEventId(lastEventId, task) : undefined;
      if (again && isSettled(task.state) && (resumeAt === undefined || resumeAt === task.seq)) {
        reader[Symbol.dispose]();
        return once(resumeAt === undefined ? { kind: 'task', seq: task.seq, task } : undefined);
      }
      return streamOf(reader, task, resumeAt ?? task.seq, {
        ...(resumeAt === undefined && { first: { kind: 'task', seq: task.seq, task } }),
        isCurrent,
        isLast: endsSend,
        signal,
      });
    },

    get: requireTask,

    peek: requireFacts,

    list: (caller, request) => store.list(scopeOf(caller), { ...request, order: 'updated' }),

    cancel: async (caller, id) => {
      const result = await store.requestCancel(scopeOf(caller), id, caller.owner, now());
      if (!result.ok) {
        const { state } = await requireFacts(caller, id);
        if (state === 'canceled') return await requireTask(caller, id);
        throw new SealaneError('task-not-cancelable', `Task "${id}" has already ended (${state}).`, {
          facts: { taskId: id, state },
        });
      }
      if (result.value.outcome === 'ended') {
        tellEnd(id, result.value);
        return result.value.task;
      }
      const { events } = result.value;
      feed.publish(id, events);
      runs.observe(id, events);
      const waiting = { waitMs: settings.cancelGraceMs + 2000, signal: parts.signal, isCurrent: events.length > 0 };
      const after = events.at(-1)?.seq ?? 0;
      return (await feed.settled(scopeOf(caller), id, after, waiting)) ?? (await requireTask(caller, id));
    },

    subscribe: async (caller, id, { lastEventId, signal = never() } = {}) => {
      const reader = feed.attach(scopeOf(caller), id);
      try {
        if (lastEventId !== undefined) {
          const facts = await requireFacts(caller, id);
          const after = checkedEventId(lastEventId, facts);
          if (isTerminal(facts.state) && after === facts.seq) {
            reader[Symbol.dispose]();
            return once(undefined);
          }
          return streamOf(reader, facts, after, { isCurrent: false, isLast: endsTask, signal });
        }
        const task = await requireTask(caller, id);
        if (isTerminal(task.state)) {
          throw refusalOf({ ok: false, why: 'terminal' }, { id, laneWaiting: settings.laneWaiting });
        }
        const first = { kind: 'task', seq: task.seq, task } as const;
        return streamOf(reader, task, task.seq, { first, isCurrent: true, isLast: endsTask, signal });
      } catch (error) {
        reader[Symbol.dispose]();
        throw error;
      }
    },

    events: async (caller, id, after, limit) => {
      const task = await requireFacts(caller, id);
      const events: Event[] = [];
      let bytes = 0;
      const range = { after, last: Math.min(after + limit, task.seq) };
      for await (const page of logPages(store, scopeOf(caller), id, range)) {
        events.push(...page);
        bytes += sizeOfAll(page);
        if (bytes > EVENTS_BYTES) break;
      }
      return { task, events };
    },

    pushConfigs: createPushConfigs({ store: parts.pushConfigs, scopeOf, webhookOf }),

    remove: async (caller, id) => {
      const result = await store.remove(scopeOf(caller), id, now());
      if (result.ok) {
        const { ended } = result.value;
        if (ended) tellEnd(id, ended);
        return feed.forget(id);
      }
      if (result.why === 'busy') {
        const { state } = await requireFacts(caller, id);
        const why = isTerminal(state)
          ? 'has ended, but its run is not known to be dead. Try again when the run is dead, or after its quarantine.'
          : 'is running. Cancel it first.';
        throw new SealaneError('conflict', `Task "${id}" ${why}`, { facts: { taskId: id } });
      }
      throw taskNotFound(id);
    },
  };
};

async function* once(item: StreamItem | undefined): AsyncGenerator<StreamItem, void, undefined> {
  if (item) yield item;
}

/** A question to the caller ends the stream of a send; a sign-in elsewhere does not. */
const endsSend = ({ event: { event } }: Pick<FeedEvent, 'event'>): boolean =>
  event.kind !== 'artifact-added' && (isTerminal(event.state) || event.state === 'input-required');

const endsTask = ({ event: { event } }: Pick<FeedEvent, 'event'>): boolean =>
  event.kind !== 'artifact-added' && isTerminal(event.state);

/** The signal of a caller that stays to the end. Each caller gets its own: listeners of a shared one would pile up. */
const never = (): AbortSignal => new AbortController().signal;
