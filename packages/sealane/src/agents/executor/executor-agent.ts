import {
  Message as WireMessage,
  Task as WireTask,
  TaskArtifactUpdateEvent,
  TaskState,
  TaskStatusUpdateEvent,
} from '@a2a-js/sdk';
import { type AgentExecutor, DefaultExecutionEventBus, RequestContext, ServerCallContext } from '@a2a-js/sdk/server';

import type { Artifact, JsonObject, Message } from '#domain';

import type { AgentConnector, RunIo, Turn, TurnEnd } from '../agent-connector.ts';
import { sessionKeyOf } from '../session-key.ts';

/**
 * An executor written for the official SDK, unchanged, as an agent of Sealane. It publishes on a bus of its own, and
 * what it publishes goes into the log; its task is kept by us, so it needs no store. A `message` that it publishes
 * ends the turn as the answer (give the agent `reply: 'message'` when it always answers so).
 */
export const createExecutorAgent = (executor: AgentExecutor): AgentConnector => ({
  kind: 'executor',
  session: sessionKeyOf,
  run: (turn, io) => execute(executor, turn, io),
  // It runs in this process: when the process is gone, so is the run.
  stop: async () => 'dead',
  close: async () => undefined,
});

type End = TurnEnd['state'];

const ENDS: Readonly<Record<string, End>> = {
  TASK_STATE_COMPLETED: 'completed',
  TASK_STATE_FAILED: 'failed',
  TASK_STATE_CANCELED: 'canceled',
  TASK_STATE_REJECTED: 'rejected',
  TASK_STATE_INPUT_REQUIRED: 'input-required',
  TASK_STATE_AUTH_REQUIRED: 'auth-required',
};

const execute = async (executor: AgentExecutor, turn: Turn, io: RunIo): Promise<TurnEnd> => {
  const bus = new DefaultExecutionEventBus();
  let end: TurnEnd | undefined;
  // The bus cannot wait, so its events queue up here, in order.
  let written: Promise<void> = Promise.resolve();
  const inOrder = (work: () => Promise<void>): void => {
    written = written.then(work);
    // Whoever awaits `written` sees the error; this keeps it from being called unhandled before.
    written.catch(() => undefined);
  };
  const report = (state: string | undefined, message: Message | undefined, metadata: JsonObject | undefined): void => {
    const ended = state === undefined ? undefined : ENDS[state];
    const facts = { ...(message && { message: ours(message, turn) }), ...(metadata && { metadata }) };
    if (ended) end ??= { state: ended, ...facts };
    else if (message || metadata) inOrder(() => io.emit({ kind: 'status', ...facts }));
  };

  bus.on('event', (event) => {
    if (end) return;
    switch (event.kind) {
      case 'artifactUpdate': {
        const { artifact, append, lastChunk, metadata } = TaskArtifactUpdateEvent.toJSON(event.data) as ArtifactJson;
        inOrder(() =>
          io.emit({
            kind: 'artifact',
            artifact,
            append: append === true,
            lastChunk: lastChunk === true,
            ...(metadata && { metadata }),
          }),
        );
        break;
      }
      case 'statusUpdate': {
        const { status, metadata } = TaskStatusUpdateEvent.toJSON(event.data) as StatusJson;
        report(status?.state, status?.message, metadata);
        break;
      }
      case 'task': {
        const { status } = WireTask.toJSON(event.data) as StatusJson;
        report(status?.state, status?.message, undefined);
        break;
      }
      case 'message':
        end = { state: 'completed', message: ours(WireMessage.toJSON(event.data) as Message, turn) };
        break;
    }
  });

  const onAbort = (): void => void executor.cancelTask(turn.taskId, bus).catch(() => undefined);
  io.signal.addEventListener('abort', onAbort, { once: true });
  try {
    await executor.execute(await contextOf(turn), bus);
    await written;
  } finally {
    io.signal.removeEventListener('abort', onAbort);
    bus.removeAllListeners();
  }
  return end ?? { state: 'completed' };
};

interface ArtifactJson {
  readonly artifact: Artifact;
  readonly append?: boolean;
  readonly lastChunk?: boolean;
  readonly metadata?: JsonObject;
}
interface StatusJson {
  readonly status?: { readonly state?: string; readonly message?: Message };
  readonly metadata?: JsonObject;
}

/** The executor may not know the ids that we gave. */
const ours = (message: Message, turn: Turn): Message => ({
  ...message,
  role: 'ROLE_AGENT',
  taskId: turn.taskId,
  contextId: turn.contextId,
});

/** The request as the SDK's own handler would hand it over; from the second turn on with the task so far. */
const contextOf = async (turn: Turn): Promise<RequestContext> => {
  const message = WireMessage.fromJSON(turn.message);
  const call = new ServerCallContext({
    user: { isAuthenticated: true, userName: turn.owner },
    tenant: turn.tenant,
    requestedVersion: '1.0',
  });
  const request = { tenant: turn.tenant, message, configuration: undefined, metadata: turn.metadata };
  if (turn.number === 1) return new RequestContext(request, turn.taskId, turn.contextId, call);
  const history = [...(await turn.history()), turn.message].map((known) => WireMessage.fromJSON(known));
  const task: WireTask = {
    id: turn.taskId,
    contextId: turn.contextId,
    status: { state: TaskState.TASK_STATE_WORKING, message: undefined, timestamp: undefined },
    history,
    artifacts: [],
    metadata: turn.metadata,
  };
  return new RequestContext(request, turn.taskId, turn.contextId, call, task);
};
