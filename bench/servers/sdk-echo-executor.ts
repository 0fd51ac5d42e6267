import { randomUUID } from 'node:crypto';
import { setImmediate, setTimeout } from 'node:timers/promises';

import { TaskState, type Artifact } from '@a2a-js/sdk';
import { AgentEvent, type AgentExecutor, type ExecutionEventBus, type RequestContext } from '@a2a-js/sdk/server';

/** Sealane's echo agent, as an executor of the SDK: `@stream N MS` streams N chunks, anything else is echoed. */
export const echoExecutor: AgentExecutor = {
  execute: async (request, bus) => {
    const { taskId, contextId, userMessage } = request;
    const first = userMessage.parts[0]?.content;
    const text = first?.$case === 'text' ? first.value : '';
    bus.publish(
      AgentEvent.task({
        id: taskId,
        contextId,
        status: statusOf(TaskState.TASK_STATE_WORKING),
        artifacts: [],
        history: [userMessage],
        metadata: undefined,
      }),
    );
    const [, chunks, pauseMs] = /^@stream (\d+) (\d+)$/.exec(text) ?? [];
    if (chunks === undefined) publishChunk(request, bus, randomUUID(), text, false, true);
    else await streamChunks(request, bus, Number(chunks), Number(pauseMs));
    bus.publish(
      AgentEvent.statusUpdate({
        taskId,
        contextId,
        status: statusOf(TaskState.TASK_STATE_COMPLETED),
        metadata: undefined,
      }),
    );
    bus.finished();
  },
  cancelTask: async (taskId, bus) => {
    bus.publish(
      AgentEvent.statusUpdate({
        taskId,
        contextId: '',
        status: statusOf(TaskState.TASK_STATE_CANCELED),
        metadata: undefined,
      }),
    );
  },
};

const statusOf = (state: TaskState) => ({ state, message: undefined, timestamp: new Date().toISOString() });

/**
 * A real agent waits for its model between chunks. Without that wait the SDK's writer gets no turn, and the first chunk
 * leaves together with the last; the whole takes as long either way.
 */
const streamChunks = async (
  request: RequestContext,
  bus: ExecutionEventBus,
  count: number,
  pauseMs: number,
): Promise<void> => {
  const artifactId = randomUUID();
  for (let n = 1; n <= count; n++) {
    await (pauseMs > 0 ? setTimeout(pauseMs) : setImmediate());
    publishChunk(request, bus, artifactId, chunkText(n), n > 1, n === count);
  }
};

/** 100 bytes that tell their place. */
const chunkText = (n: number): string => `chunk ${n} `.padEnd(99, '.') + '\n';

const publishChunk = (
  { taskId, contextId }: RequestContext,
  bus: ExecutionEventBus,
  artifactId: string,
  text: string,
  append: boolean,
  lastChunk: boolean,
): void => {
  const artifact: Artifact = {
    artifactId,
    name: 'echo',
    description: '',
    parts: [{ content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: '' }],
    metadata: undefined,
    extensions: [],
  };
  bus.publish(AgentEvent.artifactUpdate({ taskId, contextId, artifact, append, lastChunk, metadata: undefined }));
};
