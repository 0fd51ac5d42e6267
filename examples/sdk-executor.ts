/**
 * An `AgentExecutor` written for the official SDK (`@a2a-js/sdk`), unchanged, behind Sealane: its tasks are stored,
 * ordered, stoppable and replayable without a line of it being touched.
 *
 *     npx node --conditions=sealane:source examples/sdk-executor.ts
 */
import { setTimeout as delay } from 'node:timers/promises';

import { Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from '@a2a-js/sdk';
import { AgentEvent, type AgentExecutor, type ExecutionEventBus, type RequestContext } from '@a2a-js/sdk/server';
import { type Caller, createSealane } from 'sealane';
import { createExecutorAgent } from 'sealane/executor';

class Shouter implements AgentExecutor {
  readonly #canceled = new Set<string>();

  async execute({ taskId, contextId, userMessage, task }: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const report = (state: string, text?: string): void => {
      const message = text !== undefined && { message: { messageId: taskId, role: 'ROLE_AGENT', parts: [{ text }] } };
      bus.publish(
        AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON({ taskId, contextId, status: { state, ...message } })),
      );
    };
    if (!task)
      bus.publish(AgentEvent.task(Task.fromJSON({ id: taskId, contextId, status: { state: 'TASK_STATE_WORKING' } })));
    const words = userMessage.parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join(' ');
    if (words === 'listen') report('TASK_STATE_INPUT_REQUIRED', 'To what?');
    else if (words === 'wait') {
      while (!this.#canceled.has(taskId)) await delay(5);
      report('TASK_STATE_CANCELED');
    } else {
      for (const [index, word] of words.split(' ').entries()) {
        const artifact = { artifactId: 'shout', parts: [{ text: `${word.toUpperCase()}! ` }] };
        bus.publish(
          AgentEvent.artifactUpdate(
            TaskArtifactUpdateEvent.fromJSON({ taskId, contextId, artifact, append: index > 0 }),
          ),
        );
      }
      report('TASK_STATE_COMPLETED');
    }
    bus.finished();
  }

  async cancelTask(taskId: string): Promise<void> {
    this.#canceled.add(taskId);
  }
}

await using sealane = await createSealane({ store: 'memory', agents: { shouter: createExecutorAgent(new Shouter()) } });
const me: Caller = { owner: 'me', keyId: 'local', admin: false, agents: null, permission: 'guarded', tenant: '' };
const signal = new AbortController().signal;
const send = async (text: string, { wait, taskId }: { readonly wait: boolean; readonly taskId?: string }) => {
  const message = {
    messageId: text,
    role: 'ROLE_USER',
    parts: [{ text }],
    ...(taskId !== undefined && { taskId }),
  } as const;
  const outcome = await sealane.tasks.send(me, { message, dialect: '1.0' }, { wait, signal });
  if (outcome.kind !== 'task') throw new Error('A task was expected.');
  return outcome.task;
};

const done = await send('hello there', { wait: true });
console.log(`${done.state}: ${done.artifacts}`);

const asked = await send('listen', { wait: true });
console.log(`${asked.state}, then ${(await send('to me', { taskId: asked.id, wait: true })).state}`);

const waiting = await send('wait', { wait: false });
console.log((await sealane.tasks.cancel(me, waiting.id)).state);
