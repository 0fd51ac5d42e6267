import {
  Message as WireMessage,
  SendMessageConfiguration,
  Task as WireTask,
  TaskArtifactUpdateEvent,
  TaskStatusUpdateEvent,
} from '@a2a-js/sdk';
import {
  type AgentExecutionEvent,
  type AgentExecutor,
  DefaultExecutionEventBus,
  RequestContext,
  ServerCallContext,
} from '@a2a-js/sdk/server';

import type { Artifact, JsonObject, Message } from '#domain';

import type { AgentConnector, RunIo, SeenTask, Turn, TurnEnd } from '../agent-connector.ts';
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
  /** The executor may not know the ids that we gave, and what is empty is left out on the wire. */
  const ours = (message: Partial<Message>): Message => ({
    ...io.say(''),
    parts: [],
    ...message,
    role: 'ROLE_AGENT',
    taskId: turn.taskId,
    contextId: turn.contextId,
  });
  const report = ({ status, metadata }: StatusJson): void => {
    const ended = status?.state === undefined ? undefined : ENDS[status.state];
    const facts = { ...(status?.message && { message: ours(status.message) }), ...(metadata && { metadata }) };
    if (ended) end ??= { state: ended, ...facts };
    else if (status?.message || metadata) inOrder(() => io.emit({ kind: 'status', ...facts }));
  };
  const add = ({ artifact, append, lastChunk, metadata }: ArtifactJson): void => {
    if (!artifact) throw new TypeError('An executor published an artifactUpdate without its artifact.');
    inOrder(() =>
      io.emit({
        kind: 'artifact',
        artifact: { ...artifact, parts: artifact.parts ?? [] } as Artifact,
        append: append === true,
        lastChunk: lastChunk === true,
        ...(metadata && { metadata }),
      }),
    );
  };

  const hear = (event: AgentExecutionEvent): void => {
    // What older versions of the SDK publish has its members on itself, a task among them, which is called the same.
    if (!event?.data) throw noEvent(event);
    switch (event.kind) {
      case 'artifactUpdate':
        return add(TaskArtifactUpdateEvent.toJSON(event.data) as ArtifactJson);
      case 'statusUpdate':
        return report(TaskStatusUpdateEvent.toJSON(event.data) as StatusJson);
      case 'task': {
        const { status, artifacts = [], metadata } = WireTask.toJSON(event.data) as TaskJson;
        for (const artifact of artifacts) add({ artifact, lastChunk: true });
        return report({ status, ...(metadata && Object.keys(metadata).length > 0 && { metadata }) });
      }
      case 'message':
        end = { state: 'completed', message: ours(WireMessage.toJSON(event.data) as Partial<Message>) };
        return;
      default:
        throw noEvent(event);
    }
  };
  bus.on('event', (event) => {
    if (end) return;
    try {
      hear(event);
    } catch (error) {
      // What a listener of the bus throws reaches nobody but the process, and would end it.
      inOrder(() => Promise.reject(error));
    }
  });

  const context = await contextOf(turn);
  // Whoever is told to cancel what it has not begun yet has nothing to cancel, and begins it afterwards.
  if (io.signal.aborted) return { state: 'canceled' };
  // An abort has no listener's error to give to anybody either; a cancel that fails leaves the run to its grace period.
  const cancel = async (): Promise<void> => executor.cancelTask(turn.taskId, bus);
  const onAbort = (): void => void cancel().catch(() => undefined);
  io.signal.addEventListener('abort', onAbort, { once: true });
  try {
    await executor.execute(context, bus);
  } catch (error) {
    // The first end that it published is the end, whatever it does after that.
    if (!end) throw error;
  } finally {
    io.signal.removeEventListener('abort', onAbort);
    bus.removeAllListeners();
  }
  await written;
  return end ?? { state: io.signal.aborted ? 'canceled' : 'completed' };
};

const noEvent = (event: { readonly kind?: unknown } | null | undefined): TypeError =>
  new TypeError(
    `An executor published "${String(event?.kind)}", which is no event of @a2a-js/sdk 1: make them with AgentEvent.`,
  );

interface ArtifactJson {
  readonly artifact?: Partial<Artifact>;
  readonly append?: boolean;
  readonly lastChunk?: boolean;
  readonly metadata?: JsonObject;
}
interface StatusJson {
  readonly status?: { readonly state?: string; readonly message?: Partial<Message> } | undefined;
  readonly metadata?: JsonObject;
}
interface TaskJson extends StatusJson {
  readonly artifacts?: readonly Partial<Artifact>[];
}

/** The request as the SDK's own handler would hand it over; from the second turn on with the task so far. */
const contextOf = async (turn: Turn): Promise<RequestContext> => {
  const { taskId, contextId, tenant } = turn;
  const message = WireMessage.fromJSON(turn.message);
  const call = new ServerCallContext({
    user: { isAuthenticated: true, userName: turn.owner },
    tenant,
    requestedVersion: '1.0',
    requestedExtensions: [...turn.extensions],
  });
  const { outputModes, metadata } = turn;
  const configuration = SendMessageConfiguration.fromJSON({ acceptedOutputModes: outputModes });
  const request = { tenant, message, configuration, metadata };
  const before = turn.number === 1 ? undefined : await turn.before();
  const task = before && wireTask({ ...before, history: [...(await turn.history()), turn.message] });
  const references = message.referenceTaskIds.length > 0 ? (await turn.references()).map(wireTask) : undefined;
  return new RequestContext(request, taskId, contextId, call, task, references);
};

const wireTask = ({ id, contextId, artifacts, history, metadata, ...task }: SeenTask): WireTask =>
  WireTask.fromJSON({
    id,
    contextId,
    artifacts,
    history,
    metadata,
    status: {
      state: `TASK_STATE_${task.state.toUpperCase().replaceAll('-', '_')}`,
      message: task.statusMessage,
      timestamp: task.statusAt,
    },
  });
