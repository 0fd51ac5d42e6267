import { type Message, type NewEvent, SealaneError, textOf } from '#domain';
import type { Caller, SendRequest, StreamItem, TaskService, PushConfig } from '#engine';
import type { StoredTask } from '#store';

const AT = '2026-01-02T03:04:05.006Z';

export interface FakeService extends TaskService {
  /** What came in, in order. */
  readonly sent: { readonly caller: Caller; readonly request: SendRequest; readonly wait: boolean }[];
  readonly tasks: Map<string, StoredTask>;
  /** How many streams are open. */
  openStreams(): number;
  /** Frames that the open streams have handed out. */
  produced(): number;
}

/**
 * A task service without an engine, for what HTTP does with it. The text of a message says what happens: `hang` waits
 * for the signal, `break` throws a bug, `direct` answers a message, `flood N` streams N chunks as fast as they are
 * taken, `wait` streams one event and then waits for the signal, `tear` breaks a stream after its first event; anything
 * else completes at once.
 */
export const createFakeService = (): FakeService => {
  const tasks = new Map<string, StoredTask>();
  const sent: { caller: Caller; request: SendRequest; wait: boolean }[] = [];
  let open = 0;
  let produced = 0;

  const admit = (caller: Caller, request: SendRequest): StoredTask => {
    const known = request.message.taskId === undefined ? undefined : tasks.get(request.message.taskId);
    if (request.message.taskId !== undefined && known?.owner !== caller.owner) throw absent();
    const id = known?.id ?? `task-${tasks.size + 1}`;
    const contextId = request.message.contextId ?? `context-${tasks.size + 1}`;
    const message: Message = { ...request.message, taskId: id, contextId };
    const answer = { artifactId: 'a1', parts: [{ text: textOf(request.message.parts) }] };
    const task: StoredTask = {
      id,
      contextId,
      owner: caller.owner,
      tenant: caller.tenant,
      agent: request.agent ?? 'echo',
      dialect: request.dialect,
      lane: `${caller.owner}/${contextId}`,
      direct: false,
      state: 'completed',
      statusMessage: null,
      statusAt: AT,
      createdAt: AT,
      updatedAt: AT,
      artifacts: JSON.stringify([answer]),
      history: JSON.stringify([message]),
      metadata: JSON.stringify(request.metadata ?? {}),
      seq: 3,
    };
    tasks.set(id, task);
    return task;
  };

  const find = (caller: Caller, id: string): StoredTask => {
    const task = tasks.get(id);
    if (task === undefined || task.owner !== caller.owner || task.tenant !== caller.tenant) throw absent();
    return task;
  };

  async function* items(
    task: StoredTask,
    after: number | undefined,
    text: string,
    signal: AbortSignal,
  ): AsyncGenerator<StreamItem> {
    open += 1;
    let seq = after ?? 1;
    const event = (event: NewEvent): StreamItem => {
      produced += 1;
      seq += 1;
      return { kind: 'event', seq, event: { seq, at: AT, event }, task, frames: new Map() };
    };
    try {
      if (after === undefined)
        yield { kind: 'task', seq: 1, task: { ...task, state: 'submitted', artifacts: '[]', seq: 1 } };
      const [word, count] = text.split(' ');
      yield event({ kind: 'run-started', state: 'working', attempt: 1 });
      if (word === 'wait') await aborted(signal ?? new AbortController().signal);
      if (word === 'tear') throw new TypeError('the secret reason');
      for (let n = 0; n < Number(word === 'flood' ? count : 1) && !signal.aborted; n += 1) {
        const part = { text: word === 'flood' ? 'x'.repeat(1000) : text };
        yield event({ kind: 'artifact-added', artifact: { artifactId: 'a1', parts: [part] }, append: n > 0 });
      }
      if (!signal.aborted) yield event({ kind: 'turn-ended', state: 'completed' });
    } finally {
      open -= 1;
    }
  }

  const webhooks = new Map<string, PushConfig>();

  return {
    sent,
    tasks,
    openStreams: () => open,
    produced: () => produced,
    send: async (caller, request, { wait, signal }) => {
      sent.push({ caller, request, wait });
      const text = textOf(request.message.parts);
      if (text === 'break') throw new TypeError('the secret reason');
      if (text === 'full') throw new SealaneError('lane-full', 'The lane is full.', { retryAfterMs: 1500 });
      if (text === 'direct') {
        return {
          kind: 'message',
          message: { messageId: 'm2', role: 'ROLE_AGENT', parts: [{ text: 'hi' }], contextId: 'c' },
        };
      }
      if (text === 'hang') {
        await aborted(signal ?? new AbortController().signal);
        throw new DOMException('This operation was aborted', 'AbortError');
      }
      return { kind: 'task', task: admit(caller, request) };
    },
    stream: async (caller, request, { lastEventId, signal = new AbortController().signal } = {}) => {
      sent.push({ caller, request, wait: true });
      const text = textOf(request.message.parts);
      if (text === 'full') throw new SealaneError('lane-full', 'The lane is full.', { retryAfterMs: 1500 });
      return items(admit(caller, request), lastEventId, text, signal);
    },
    get: async (caller, id) => find(caller, id),
    peek: async (caller, id) => find(caller, id),
    list: async (caller, { limit }) => {
      const own = [...tasks.values()].filter(({ owner, tenant }) => owner === caller.owner && tenant === caller.tenant);
      return { tasks: own.slice(0, limit), total: own.length, ...(own.length > limit && { next: 'more' }) };
    },
    cancel: async (caller, id) => {
      const task: StoredTask = { ...find(caller, id), state: 'canceled' };
      tasks.set(id, task);
      return task;
    },
    subscribe: async (caller, id, { lastEventId, signal = new AbortController().signal } = {}) => {
      const task = find(caller, id);
      if (lastEventId === undefined) throw new SealaneError('unsupported-operation', 'The task has ended.');
      return items(task, lastEventId, 'replay', signal);
    },
    events: async (caller, id) => ({ task: find(caller, id), events: [] }),
    pushConfigs: {
      save: async (caller, taskId, config) => {
        const saved = { id: 'config-1', ...config };
        const name = `${find(caller, taskId).id}/${saved.id}`;
        webhooks.set(name, saved);
        return saved;
      },
      find: async (caller, taskId, id) => webhooks.get(`${find(caller, taskId).id}/${id}`),
      list: async (caller, taskId) =>
        [...webhooks].filter(([name]) => name.startsWith(`${find(caller, taskId).id}/`)).map(([, config]) => config),
      remove: async (caller, taskId, id) => void webhooks.delete(`${find(caller, taskId).id}/${id}`),
    },
    remove: async (caller, id) => {
      tasks.delete(find(caller, id).id);
    },
  };
};

const absent = (): SealaneError => new SealaneError('task-not-found', 'There is no such task.');

const aborted = (signal: AbortSignal): Promise<void> =>
  signal.aborted
    ? Promise.resolve()
    : new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
