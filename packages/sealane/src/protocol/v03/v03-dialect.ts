import { isTerminal, SealaneError } from '#domain';
import type { Caller, PushConfig, StreamItem } from '#engine';

import type { Dialect, Method, ProtocolDeps } from '../dialect.ts';
import { invalid, requireId } from '../field-reader.ts';
import { decodeGetParams, decodeTaskParams } from '../request-decoder.ts';
import { callerOf, sendRequestOf, streamOptionsOf } from '../send-request.ts';
import { requirePush, requireStreaming } from '../v1-dialect.ts';
import { encodeV03Page, encodeV03StreamItem, encodeV03Task, V03 } from './v03-encoder.ts';
import { encodeV03Error } from './v03-errors.ts';
import { v03MessageOf } from './v03-message.ts';
import { decodeV03ListParams, decodeV03SendParams } from './v03-params.ts';
import { decodeV03PushName, decodeV03PushSetting, encodeV03PushConfig } from './v03-push-config.ts';

/** A2A 0.3 and 0.2, which have the same methods and the same JSON. Its `extendedCard` is that of 0.3 as well. */
export const createV03Dialect = (deps: ProtocolDeps): Dialect => {
  const { service, capabilities } = deps;
  const { pushConfigs } = service;

  const send: Method = async (params, context) => {
    const sent = decodeV03SendParams(params);
    const request = await sendRequestOf(sent, V03, context, deps);
    const outcome = await service.send(callerOf(context, undefined), request, {
      wait: !sent.returnImmediately,
      signal: context.signal,
    });
    return outcome.kind === 'task'
      ? encodeV03Task(outcome.task, { historyLength: sent.historyLength })
      : JSON.stringify(v03MessageOf(outcome.message));
  };

  const stream: Method = async (params, context) => {
    requireStreaming(deps);
    const sent = decodeV03SendParams(params);
    const request = await sendRequestOf(sent, V03, context, deps);
    const items = await service.stream(callerOf(context, undefined), request, streamOptionsOf(context));
    return { items, encode: (item) => encodeV03StreamItem(item, 'send', sent.historyLength) };
  };

  const get: Method = async (params, context) => {
    const { id, historyLength } = decodeGetParams(params);
    return encodeV03Task(await service.get(callerOf(context, undefined), id), { historyLength });
  };

  const list: Method = async (params, context) => {
    const { request, historyLength } = decodeV03ListParams(params);
    const page = await service.list(callerOf(context, undefined), request);
    const artifacts = request.withArtifacts ? 'always' : 'never';
    return encodeV03Page(page, { pageSize: request.limit, historyLength, artifacts });
  };

  const cancel: Method = async (params, context) => {
    const { id } = decodeTaskParams(params);
    const caller = callerOf(context, undefined);
    // 1.0 lets a cancel be repeated; before it, an ended task is an ended task.
    if ((await service.peek(caller, id)).state === 'canceled') {
      throw new SealaneError('task-not-cancelable', `Task "${id}" has been canceled before.`, {
        facts: { taskId: id },
      });
    }
    return encodeV03Task(await service.cancel(caller, id));
  };

  /**
   * The specification of 0.3 leaves open what a resubscriber is told of the past. Like the SDK's servers we begin with
   * the task as it is, and one that has ended is all there is to tell; so nobody has to guess what was missed. With
   * Last-Event-ID only the later events follow, as in every dialect.
   */
  const resubscribe: Method = async (params, context) => {
    requireStreaming(deps);
    const { id } = decodeTaskParams(params);
    const caller = callerOf(context, undefined);
    const items = await service
      .subscribe(caller, id, streamOptionsOf(context))
      .catch((refusal: unknown) => endedTask(caller, id, refusal));
    return { items, encode: (item) => encodeV03StreamItem(item, 'subscribe') };
  };

  const endedTask = async (caller: Caller, id: string, refusal: unknown): Promise<AsyncIterable<StreamItem>> => {
    if (!(refusal instanceof SealaneError) || refusal.code !== 'unsupported-operation') throw refusal;
    const task = await service.get(caller, id);
    if (!isTerminal(task.state)) throw refusal;
    return once({ kind: 'task', seq: task.seq, task });
  };

  const setPushConfig: Method = async (params, context) => {
    requirePush(deps);
    const { taskId, config } = decodeV03PushSetting(params);
    return encodeV03PushConfig(await pushConfigs.save(callerOf(context, undefined), taskId, config), taskId);
  };

  const getPushConfig: Method = async (params, context) => {
    requirePush(deps);
    const { taskId, id } = decodeV03PushName(params);
    const caller = callerOf(context, undefined);
    const found = id === undefined ? await findOnly(caller, taskId) : await pushConfigs.find(caller, taskId, id);
    if (found) return encodeV03PushConfig(found, taskId);
    throw new SealaneError('task-not-found', `Task "${taskId}" has no such push notification config.`, {
      facts: { taskId, ...(id !== undefined && { id }) },
    });
  };

  /** Whoever names none means the task's own one, or the only one: 0.2 knew no more of them. */
  const findOnly = async (caller: Caller, taskId: string): Promise<PushConfig | undefined> => {
    const configs = await pushConfigs.list(caller, taskId);
    const own = configs.find(({ id }) => id === taskId);
    if (own === undefined && configs.length > 1) {
      throw invalid('pushNotificationConfigId', `is missing: the task has ${configs.length} configs, name one.`);
    }
    return own ?? configs[0];
  };

  const listPushConfigs: Method = async (params, context) => {
    requirePush(deps);
    const { taskId } = decodeV03PushName(params);
    const configs = await pushConfigs.list(callerOf(context, undefined), taskId);
    return `[${configs.map((config) => encodeV03PushConfig(config, taskId)).join(',')}]`;
  };

  const deletePushConfig: Method = async (params, context) => {
    requirePush(deps);
    const { taskId, id } = decodeV03PushName(params);
    await pushConfigs.remove(callerOf(context, undefined), taskId, requireId(id, 'pushNotificationConfigId'));
    return 'null';
  };

  const extendedCard: Method = async (_params, context) => {
    if (capabilities.extendedCard) return await deps.extendedCard(context);
    throw new SealaneError(
      'extended-card-not-configured',
      'There is no extended card here: the public one says everything.',
    );
  };

  return {
    versions: [V03, '0.2'],
    encodeError: encodeV03Error,
    methods: new Map([
      ['message/send', send],
      ['message/stream', stream],
      ['tasks/get', get],
      ['tasks/list', list],
      ['tasks/cancel', cancel],
      ['tasks/resubscribe', resubscribe],
      ['tasks/pushNotificationConfig/set', setPushConfig],
      ['tasks/pushNotificationConfig/get', getPushConfig],
      ['tasks/pushNotificationConfig/list', listPushConfigs],
      ['tasks/pushNotificationConfig/delete', deletePushConfig],
      ['agent/getAuthenticatedExtendedCard', extendedCard],
    ]),
  };
};

async function* once(item: StreamItem): AsyncGenerator<StreamItem, void, undefined> {
  yield item;
}
