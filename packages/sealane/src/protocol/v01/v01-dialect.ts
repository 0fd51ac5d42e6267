import { SealaneError } from '#domain';
import type { Caller, SendRequest } from '#engine';
import type { StoredTask } from '#store';

import type { CallContext, Dialect, Method, ProtocolDeps } from '../dialect.ts';
import { invalid } from '../field-reader.ts';
import { callerOf, sendRequestOf, streamOptionsOf } from '../send-request.ts';
import { requirePush } from '../v1-dialect.ts';
import { findNamed, nameTask, taskIdOf } from './client-task.ts';
import { createV01StreamEncoder, encodeV01Task, untilAsked, V01 } from './v01-encoder.ts';
import { encodeV01Error } from './v01-errors.ts';
import { decodeV01SendParams, decodeV01TaskParams, type V01SendParams } from './v01-params.ts';
import { decodeV01PushSetting, encodeV01PushConfig } from './v01-push-config.ts';

interface Prepared {
  readonly sent: V01SendParams;
  readonly caller: Caller;
  readonly request: SendRequest;
  /** The task as it is, when the message continues one. */
  readonly known: StoredTask | undefined;
  readonly taskId: string;
}

/** A2A 0.1: tasks that callers name, sessions instead of contexts, and no message without a task. */
export const createV01Dialect = (deps: ProtocolDeps): Dialect => {
  const { service } = deps;
  const { pushConfigs } = service;

  /** The task that a caller means: one that it named itself, or any other of its tasks by id. */
  const requireTask = async (caller: Caller, name: string): Promise<StoredTask> =>
    service.get(caller, (await findNamed(service, caller, name))?.id ?? name);

  const findTask = async (caller: Caller, name: string): Promise<StoredTask | undefined> => {
    try {
      return await requireTask(caller, name);
    } catch (error) {
      if (error instanceof SealaneError && error.code === 'task-not-found') return undefined;
      throw error;
    }
  };

  /** A known name continues its task, a new one makes a task. */
  const prepare = async (params: unknown, context: CallContext): Promise<Prepared> => {
    const sent = decodeV01SendParams(params, context);
    const { name, sessionId, webhook } = sent;
    const caller = callerOf(context, undefined);
    const known = await findTask(caller, name);
    if (known && sessionId !== undefined && sessionId !== known.contextId) {
      throw invalid('sessionId', `is not the session of the task "${name}": leave it out, or correct it.`);
    }
    const taskId = known?.id ?? taskIdOf(caller, name);
    const message = {
      ...sent.message,
      ...(known && { taskId }),
      ...(sessionId !== undefined && { contextId: sessionId }),
    };
    const request = await sendRequestOf(
      {
        ...sent,
        message,
        tenant: undefined,
        push: webhook && { ...webhook, id: taskId },
        ...(!known && { givenTaskId: taskId }),
      },
      V01,
      context,
      deps,
    );
    return { sent, caller, request, known, taskId };
  };

  const send: Method = async (params, context) => {
    const { sent, caller, request, taskId } = await prepare(params, context);
    return await inNameOf(taskId, sent.name, async () => {
      // There is no other way to the answer of a `tasks/send` than to wait for it.
      const outcome = await service.send(caller, request, { wait: true, signal: context.signal });
      // A direct reply has a record too, which is the task that 0.1 wants to see.
      const task = outcome.kind === 'task' ? outcome.task : await service.get(caller, taskId);
      return encodeV01Task(task, sent.name, sent.historyLength);
    });
  };

  const sendSubscribe: Method = async (params, context) => {
    requireStreams(deps);
    const { sent, caller, request, known, taskId } = await prepare(params, context);
    const items = await inNameOf(taskId, sent.name, () => service.stream(caller, request, streamOptionsOf(context)));
    return { items: untilAsked(items), encode: createV01StreamEncoder(sent.name, 'send', known) };
  };

  const get: Method = async (params, context) => {
    const { name, historyLength } = decodeV01TaskParams(params);
    return encodeV01Task(await requireTask(callerOf(context, undefined), name), name, historyLength);
  };

  const cancel: Method = async (params, context) => {
    const { name } = decodeV01TaskParams(params);
    const caller = callerOf(context, undefined);
    const { id, state } = await requireTask(caller, name);
    // Like 0.3, and unlike 1.0: a task that was canceled has ended, and an ended one cannot be canceled.
    if (state === 'canceled') {
      throw new SealaneError('task-not-cancelable', `Task "${name}" has been canceled before.`, {
        facts: { taskId: name },
      });
    }
    return encodeV01Task(await inNameOf(id, name, () => service.cancel(caller, id)), name, 0);
  };

  /** Its status first, then the later events; artifacts so far can be had by `tasks/get`, or by Last-Event-ID. */
  const resubscribe: Method = async (params, context) => {
    requireStreams(deps);
    const { name } = decodeV01TaskParams(params);
    const caller = callerOf(context, undefined);
    const known = await requireTask(caller, name);
    const items = await inNameOf(known.id, name, () => service.subscribe(caller, known.id, streamOptionsOf(context)));
    return { items, encode: createV01StreamEncoder(name, 'subscribe', known) };
  };

  const setPush: Method = async (params, context) => {
    requirePush(deps);
    const { name, webhook } = decodeV01PushSetting(params);
    const caller = callerOf(context, undefined);
    const { id } = await requireTask(caller, name);
    const saved = await inNameOf(id, name, () => pushConfigs.save(caller, id, { ...webhook, id }));
    return encodeV01PushConfig(saved, name);
  };

  const getPush: Method = async (params, context) => {
    requirePush(deps);
    const { name } = decodeV01TaskParams(params);
    const caller = callerOf(context, undefined);
    const { id } = await requireTask(caller, name);
    const found = await inNameOf(id, name, () => pushConfigs.find(caller, id, id));
    if (found) return encodeV01PushConfig(found, name);
    throw new SealaneError('task-not-found', `Task "${name}" has no push notification config.`, {
      facts: { taskId: name },
    });
  };

  return {
    versions: [V01],
    encodeError: encodeV01Error,
    methods: new Map([
      ['tasks/send', send],
      ['tasks/sendSubscribe', sendSubscribe],
      ['tasks/get', get],
      ['tasks/cancel', cancel],
      ['tasks/resubscribe', resubscribe],
      ['tasks/pushNotification/set', setPush],
      ['tasks/pushNotification/get', getPush],
    ]),
  };
};

const inNameOf = async <T>(taskId: string, name: string, act: () => Promise<T>): Promise<T> => {
  try {
    return await act();
  } catch (refusal) {
    throw nameTask(refusal, taskId, name);
  }
};

const requireStreams = ({ capabilities }: ProtocolDeps): void => {
  if (capabilities.streaming) return;
  throw new SealaneError('unsupported-operation', 'There are no streams here: use tasks/send.', {
    facts: { capability: 'streaming' },
  });
};
