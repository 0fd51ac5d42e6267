import { type AgentConnector, type RunIo, sessionKeyOf, type Turn, type TurnEnd } from '#agents';
import { type Message, SealaneError, type State } from '#domain';
import type { Caller, ListRequest, SendRequest, StreamItem, TaskService } from '#engine';
import type { Storage, StoredTask } from '#store';

import { type TaskInput, type ViewTask, viewOf } from './seed-task.ts';

/** What a host with sessions of its own has to offer: take a message for a session, and stop what it is doing. */
export interface SessionHost {
  sendToSession(
    sessionKey: string,
    task: { readonly id: string; readonly contextId: string; readonly message: Message },
  ): Promise<void>;
  abortSession?(sessionKey: string, taskId: string): Promise<void>;
}

/**
 * An agent that is a host's sessions. The host is handed one message at a time per session and says what became of
 * it, by task or by session. `run` ends when the host has said so.
 */
export interface SessionAgent {
  readonly connector: AgentConnector;
  /** Text that a session says while it works. */
  onSessionMessage(sessionKey: string, message: Message | string): void;
  /** The session has nothing more to do: what it worked on is complete. */
  onSessionComplete(sessionKey: string): void;
  completeTask(taskId: string, response?: string): void;
  failTask(taskId: string, error: unknown): void;
  /** One of the two, by what there is. */
  onTaskComplete(taskId: string, result: TaskResult): Promise<void>;
  getActiveTaskForSession(sessionKey: string): string | undefined;
}

/** What became of a task in its session: an answer, or what went wrong. */
export interface TaskResult {
  readonly response?: string;
  readonly error?: unknown;
}

interface Active {
  readonly turn: Turn;
  readonly io: RunIo;
  chunks: number;
  end(end: TurnEnd): void;
}

export const createSessionAgent = (host: SessionHost): SessionAgent => {
  const bySession = new Map<string, Active>();
  const byTask = new Map<string, Active>();

  const say = (active: Active, text: string): void => {
    const artifactId = `answer-${active.turn.number}`;
    active.chunks += 1;
    active.io
      .emit({ kind: 'artifact', artifact: { artifactId, parts: [{ text }] }, append: active.chunks > 1 })
      .catch(() => undefined);
  };

  const run = async (turn: Turn, io: RunIo): Promise<TurnEnd> => {
    const { promise, resolve } = Promise.withResolvers<TurnEnd>();
    const active: Active = { turn, io, chunks: 0, end: resolve };
    bySession.set(turn.session, active);
    byTask.set(turn.taskId, active);
    const onAbort = (): void => {
      // A host may throw instead of rejecting, and nobody catches what a listener throws.
      const stop = async (): Promise<void> => host.abortSession?.(turn.session, turn.taskId);
      // A host that could not stop is still at it: the lane is kept until it says otherwise.
      stop().then(
        () => resolve({ state: 'canceled' }),
        () => undefined,
      );
    };
    io.signal.addEventListener('abort', onAbort, { once: true });
    try {
      await host.sendToSession(turn.session, { id: turn.taskId, contextId: turn.contextId, message: turn.message });
      return await promise;
    } finally {
      io.signal.removeEventListener('abort', onAbort);
      bySession.delete(turn.session);
      byTask.delete(turn.taskId);
    }
  };

  const completeTask = (taskId: string, response?: string): void => {
    const active = byTask.get(taskId);
    if (!active) return;
    if (response !== undefined) say(active, response);
    active.end({ state: 'completed' });
  };
  const failTask = (taskId: string, error: unknown): void => {
    const active = byTask.get(taskId);
    active?.end({
      state: 'failed',
      message: active.io.say(error instanceof Error ? error.message : String(error)),
      reason: 'agent',
    });
  };

  return {
    connector: { kind: 'sessions', session: sessionKeyOf, run, stop: async () => 'dead', close: async () => undefined },
    onSessionMessage: (sessionKey, message) => {
      const active = bySession.get(sessionKey);
      if (active)
        say(active, typeof message === 'string' ? message : message.parts.map((part) => part.text ?? '').join(''));
    },
    onSessionComplete: (sessionKey) => bySession.get(sessionKey)?.end({ state: 'completed' }),
    completeTask,
    failTask,
    onTaskComplete: async (taskId, { response, error }) =>
      error === undefined ? completeTask(taskId, response) : failTask(taskId, error),
    getActiveTaskForSession: (sessionKey) => bySession.get(sessionKey)?.turn.taskId,
  };
};

/** The service for one caller, under the names that hosts of sessions use. */
export interface SessionService {
  sendMessage(request: { readonly message: Message; readonly wait?: boolean }): Promise<ViewTask | Message>;
  /**
   * Takes in a task that its caller has made and named: the last message of its history is what has to be done. It
   * begins at once, or waits in its lane; a task of this name that is there already is continued.
   */
  dispatch(task: TaskInput): Promise<void>;
  /** With `historyLength`, the last messages only. */
  getTask(id: string, params?: { readonly historyLength?: number }): Promise<ViewTask>;
  listTasks(
    params?: Partial<ListRequest>,
  ): Promise<{ readonly tasks: readonly ViewTask[]; readonly nextPageToken: string | null }>;
  cancelTask(id: string): Promise<ViewTask>;
  subscribeToTask(id: string, signal: AbortSignal): Promise<AsyncIterable<StreamItem>>;
  /** True when a message in this context would start at once. */
  canDispatch(contextId: string): Promise<boolean>;
  /** What waits in this context, in the order in which it will run. */
  getPendingTasks(contextId: string): Promise<readonly ViewTask[]>;
  contextToSession(contextId: string): string;
  sessionToContext(sessionKey: string): string;
}

export const createSessionService = (options: {
  readonly tasks: TaskService;
  readonly storage: Pick<Storage, 'tasks'>;
  readonly caller: Caller;
  readonly agent: string;
}): SessionService => {
  const { tasks, caller, agent, storage } = options;
  const scope = { owner: caller.owner, tenant: caller.tenant, agent };
  const pageOf = (contextId: string, states: readonly State[], limit: number, after?: string) =>
    storage.tasks.list(scope, {
      contextId,
      states,
      limit,
      order: 'inserted',
      withArtifacts: true,
      ...(after !== undefined && { after }),
    });
  const waitingIn = async (contextId: string): Promise<ViewTask[]> => {
    const waiting: StoredTask[] = [];
    let after: string | undefined;
    do {
      const page = await pageOf(contextId, ['submitted'], 200, after);
      waiting.push(...page.tasks);
      after = page.next;
    } while (after !== undefined);
    // An old task whose answer waits stands where the answer does.
    return waiting.sort((a, b) => (a.queuePosition ?? 0) - (b.queuePosition ?? 0)).map(viewOf);
  };
  const request = (message: Message): SendRequest => ({ message, agent, dialect: '1.0' });
  return {
    sendMessage: async ({ message, wait = false }) => {
      const outcome = await tasks.send(caller, request(message), { wait, signal: new AbortController().signal });
      return outcome.kind === 'task' ? viewOf(outcome.task) : outcome.message;
    },
    dispatch: async ({ id, contextId, history = [], metadata }) => {
      const asked = history.at(-1);
      if (!asked) {
        throw new SealaneError('invalid-params', `Task "${id}" has no message in its history: nothing is to be done.`);
      }
      const { taskId: _taskId, ...message } = asked;
      const sent = request({ ...message, ...(contextId !== undefined && { contextId }) });
      await tasks.send(
        caller,
        { ...sent, givenTaskId: id, ...(metadata && { metadata }) },
        { wait: false, signal: new AbortController().signal },
      );
    },
    getTask: async (id, { historyLength } = {}) => {
      const task = viewOf(await tasks.get(caller, id));
      if (historyLength === undefined) return task;
      return { ...task, history: historyLength > 0 ? task.history.slice(-historyLength) : [] };
    },
    listTasks: async (params = {}) => {
      const page = await tasks.list(caller, { limit: 50, withArtifacts: true, ...params });
      return { tasks: page.tasks.map(viewOf), nextPageToken: page.next ?? null };
    },
    cancelTask: async (id) => viewOf(await tasks.cancel(caller, id)),
    subscribeToTask: (id, signal) => tasks.subscribe(caller, id, { signal }),
    canDispatch: async (contextId) => (await pageOf(contextId, ['submitted', 'working'], 1)).tasks.length === 0,
    getPendingTasks: waitingIn,
    contextToSession: (contextId) => sessionKeyOf({ ...scope, contextId }),
    sessionToContext: (sessionKey) => decodeURIComponent(sessionKey.split('/').at(-1) ?? ''),
  };
};
