import { Message, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from '@a2a-js/sdk';
import {
  AgentEvent,
  type AgentExecutionEvent,
  type AgentExecutor,
  type ExecutionEventBus,
  type RequestContext,
} from '@a2a-js/sdk/server';
import { createExecutorAgent } from 'sealane/executor';
import { describe, expect, it } from 'vitest';

import { openService } from './support/service.ts';

type Execute = (context: RequestContext, bus: ExecutionEventBus) => Promise<void>;

const status = (state: string, text?: string): AgentExecutionEvent =>
  AgentEvent.statusUpdate(
    TaskStatusUpdateEvent.fromJSON({
      status: { state, ...(text !== undefined && { message: { role: 'ROLE_AGENT', parts: [{ text }] } }) },
    }),
  );
const artifact = (text: string | undefined, more: object = {}): AgentExecutionEvent =>
  AgentEvent.artifactUpdate(
    TaskArtifactUpdateEvent.fromJSON({
      artifact: { artifactId: 'a', parts: text === undefined ? [] : [{ text }] },
      ...more,
    }),
  );

const openWith = (execute: Execute, cancelTask: AgentExecutor['cancelTask'] = async () => undefined) =>
  openService({ agents: { executor: createExecutorAgent({ execute, cancelTask }) }, settings: { waitMs: 30_000 } });

const taskOf = async (execute: Execute) => {
  await using service = await openWith(execute);
  return await service.client.send('go');
};

describe('an executor of the SDK that', () => {
  it('publishes its answer as a whole task has its artifacts and metadata kept', async () => {
    const task = await taskOf(async ({ taskId, contextId }, bus) =>
      bus.publish(
        AgentEvent.task(
          Task.fromJSON({
            id: taskId,
            contextId,
            status: { state: 'TASK_STATE_COMPLETED' },
            artifacts: [{ artifactId: 'a', parts: [{ text: 'the answer' }] }],
            metadata: { tokens: 3 },
          }),
        ),
      ),
    );
    expect(task).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ artifactId: 'a', parts: [{ text: 'the answer' }] }],
      metadata: { tokens: 3 },
    });
  });

  it('closes an artifact with an empty chunk completes', async () => {
    const task = await taskOf(async (_context, bus) => {
      bus.publish(artifact('x'));
      bus.publish(artifact(undefined, { append: true, lastChunk: true }));
      bus.publish(status('TASK_STATE_COMPLETED'));
    });
    expect(task).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' }, artifacts: [{ parts: [{ text: 'x' }] }] });
  });

  it('answers with a message without an id, or without parts, completes, and the message has both', async () => {
    for (const parts of [[{ text: 'hello' }], []]) {
      const { status } = await taskOf(async (_context, bus) =>
        bus.publish(AgentEvent.message(Message.fromJSON({ role: 'ROLE_AGENT', parts }))),
      );
      expect(status).toMatchObject({
        state: 'TASK_STATE_COMPLETED',
        message: { messageId: expect.stringMatching(/./), role: 'ROLE_AGENT', parts },
      });
    }
  });

  it('throws after its end has the end that it published', async () => {
    const task = await taskOf(async (_context, bus) => {
      bus.publish(status('TASK_STATE_COMPLETED', 'done'));
      bus.finished();
      throw new Error('too late');
    });
    expect(task.status).toMatchObject({ state: 'TASK_STATE_COMPLETED', message: { parts: [{ text: 'done' }] } });
  });

  it.each([
    ['nothing', undefined],
    ['an event without its data', { kind: 'artifactUpdate' }],
    ['an artifact event without an artifact', { kind: 'artifactUpdate', data: { taskId: 'x' } }],
    ['an event of an older SDK', { kind: 'status-update', status: { state: 'failed' }, final: true }],
    ['a task of an older SDK', { kind: 'task', id: 'x', contextId: 'y', status: { state: 'submitted' } }],
  ])('publishes %s fails its task with a word on what it did, and nothing else', async (_what, event) => {
    const task = await taskOf(async (_context, bus) => bus.publish(event as unknown as AgentExecutionEvent));
    const message = { parts: [{ text: expect.stringContaining('An executor published') }] };
    expect(task).toMatchObject({ status: { state: 'TASK_STATE_FAILED', message }, metadata: { reason: 'error' } });
  });

  it.each([
    [
      'throws at once',
      () => {
        throw new Error('no');
      },
    ],
    ['answers no promise', () => undefined],
    ['rejects', () => Promise.reject(new Error('no'))],
  ])('%s when it is told to cancel ends as canceled when it is over', async (_what, cancelTask) => {
    const begun = Promise.withResolvers<void>();
    const over = Promise.withResolvers<void>();
    await using service = await openWith(
      () => {
        begun.resolve();
        return over.promise;
      },
      (...words) => {
        over.resolve();
        return (cancelTask as AgentExecutor['cancelTask'])(...words);
      },
    );
    const task = await service.client.submit('go');
    await begun.promise;
    expect((await service.client.cancel(task.id)).status.state).toBe('TASK_STATE_CANCELED');
  });

  it('is canceled before it has begun to work on an answer does not begin', async () => {
    const working = new Map<string, () => void>();
    await using service = await openWith(
      async ({ taskId, task }, bus) => {
        if (!task) bus.publish(status('TASK_STATE_INPUT_REQUIRED', 'what?'));
        else await new Promise<void>((resolve) => void working.set(taskId, resolve));
      },
      async (taskId) => working.get(taskId)?.(),
    );
    const { caller, client, sealane } = service;
    const { id } = await client.send('go');
    const answer = { messageId: 'answer', role: 'ROLE_USER', taskId: id, parts: [{ text: 'this' }] } as const;
    const { signal } = new AbortController();
    await sealane.tasks.send(caller, { message: answer, dialect: '1.0' }, { wait: false, signal });
    expect(await sealane.tasks.cancel(caller, id)).toMatchObject({ state: 'canceled' });
    expect((await client.get(id)).metadata).toEqual({ reason: 'canceled' });
    expect(working.size).toBe(0);
  });

  it('is answered sees its task as it was: what it gave, what it asked, what was said', async () => {
    const seen: RequestContext['task'][] = [];
    await using service = await openWith(async ({ task }, bus) => {
      seen.push(task);
      if (task) return;
      bus.publish(artifact('half of it', { append: false, lastChunk: true }));
      bus.publish(status('TASK_STATE_INPUT_REQUIRED', 'what else?'));
    });
    const { id, contextId } = await service.client.send('go');
    await service.client.send('this', { taskId: id });
    expect(seen[0]).toBeUndefined();
    expect(Task.toJSON(seen[1] ?? Task.fromJSON({}))).toMatchObject({
      id,
      contextId,
      status: { state: 'TASK_STATE_INPUT_REQUIRED', message: { parts: [{ text: 'what else?' }] } },
      artifacts: [{ artifactId: 'a', parts: [{ text: 'half of it' }] }],
      history: [
        { role: 'ROLE_USER', parts: [{ text: 'go' }] },
        { role: 'ROLE_AGENT', parts: [{ text: 'half of it' }] },
        { role: 'ROLE_AGENT', parts: [{ text: 'what else?' }] },
        { role: 'ROLE_USER', parts: [{ text: 'this' }] },
      ],
    });
  });

  it('is referred to other tasks sees them', async () => {
    const referred: string[] = [];
    await using service = await openWith(async ({ referenceTasks = [] }, bus) => {
      referred.push(...referenceTasks.map((task) => `${task.id} ${task.artifacts.length}`));
      bus.publish(artifact('done'));
    });
    const first = await service.client.send('one');
    const second = await service.client.send('two');
    await service.client.send('three', { message: { referenceTaskIds: [first.id, second.id] } });
    expect(referred).toEqual([`${first.id} 1`, `${second.id} 1`]);
  });

  it('is called sees which extensions and media types its caller asks for', async () => {
    const asked: unknown[] = [];
    const execute: Execute = async ({ request, context }) =>
      void asked.push(context.requestedExtensions, request.configuration?.acceptedOutputModes);
    const connector = createExecutorAgent({ execute, cancelTask: async () => undefined });
    await using service = await openService({
      agents: { own: { connector, extensions: [{ uri: 'urn:example:tone' }] } },
    });
    await service.client.send('go', {
      headers: { 'a2a-extensions': 'urn:example:tone, urn:unknown' },
      configuration: { acceptedOutputModes: ['text/html', 'image/png'] },
    });
    expect(asked).toEqual([['urn:example:tone'], ['text/html', 'image/png']]);
  });
});
