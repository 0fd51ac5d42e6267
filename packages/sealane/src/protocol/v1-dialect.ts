import { SealaneError } from '#domain';

import type { Dialect, Method, ProtocolDeps } from './dialect.ts';
import { encodeRpcError } from './errors.ts';
import { DIALECT, encodeStreamItem } from './event-encoder.ts';
import { decodePushConfig, decodePushConfigName, decodePushTask, encodePushConfig, noPush } from './push-config.ts';
import { decodeGetParams, decodeListParams, decodeSendParams, decodeTaskParams } from './request-decoder.ts';
import { callerOf, sendRequestOf, streamOptionsOf } from './send-request.ts';
import { encodePage, encodeTask } from './task-encoder.ts';

/** A2A 1.0: its eleven methods over the task service. */
export const createV1Dialect = (deps: ProtocolDeps): Dialect => {
  const { service, capabilities } = deps;
  const { pushConfigs } = service;

  const send: Method = async (params, context) => {
    const sent = decodeSendParams(params);
    const request = await sendRequestOf(sent, DIALECT, context, deps);
    const outcome = await service.send(callerOf(context, sent.tenant), request, {
      wait: !sent.returnImmediately,
      signal: context.signal,
    });
    return outcome.kind === 'task'
      ? `{"task":${encodeTask(outcome.task, { historyLength: sent.historyLength })}}`
      : `{"message":${JSON.stringify(outcome.message)}}`;
  };

  const stream: Method = async (params, context) => {
    requireStreaming(deps);
    const sent = decodeSendParams(params);
    const request = await sendRequestOf(sent, DIALECT, context, deps);
    const items = await service.stream(callerOf(context, sent.tenant), request, streamOptionsOf(context));
    return { items, encode: (item) => encodeStreamItem(item, sent.historyLength) };
  };

  const get: Method = async (params, context) => {
    const { id, tenant, historyLength } = decodeGetParams(params);
    return encodeTask(await service.get(callerOf(context, tenant), id), { historyLength });
  };

  const list: Method = async (params, context) => {
    const { request, tenant, historyLength } = decodeListParams(params);
    const page = await service.list(callerOf(context, tenant), request);
    return encodePage(page, {
      pageSize: request.limit,
      historyLength,
      artifacts: request.withArtifacts ? 'always' : 'never',
    });
  };

  const cancel: Method = async (params, context) => {
    const { id, tenant } = decodeTaskParams(params);
    return encodeTask(await service.cancel(callerOf(context, tenant), id));
  };

  const subscribe: Method = async (params, context) => {
    requireStreaming(deps);
    const { id, tenant } = decodeTaskParams(params);
    const items = await service.subscribe(callerOf(context, tenant), id, streamOptionsOf(context));
    return { items, encode: (item) => encodeStreamItem(item) };
  };

  const createPushConfig: Method = async (params, context) => {
    requirePush(deps);
    const { taskId, tenant } = decodePushTask(params);
    const saved = await pushConfigs.save(callerOf(context, tenant), taskId, decodePushConfig(params, 'params'));
    return encodePushConfig(saved, taskId);
  };

  const getPushConfig: Method = async (params, context) => {
    requirePush(deps);
    const { taskId, id, tenant } = decodePushConfigName(params);
    const found = await pushConfigs.find(callerOf(context, tenant), taskId, id);
    if (found) return encodePushConfig(found, taskId);
    throw new SealaneError('task-not-found', `Task "${taskId}" has no push notification config "${id}".`, {
      facts: { taskId, id },
    });
  };

  const listPushConfigs: Method = async (params, context) => {
    requirePush(deps);
    const { taskId, tenant } = decodePushTask(params);
    const configs = await pushConfigs.list(callerOf(context, tenant), taskId);
    return `{"configs":[${configs.map((config) => encodePushConfig(config, taskId)).join(',')}]}`;
  };

  const deletePushConfig: Method = async (params, context) => {
    requirePush(deps);
    const { taskId, id, tenant } = decodePushConfigName(params);
    await pushConfigs.remove(callerOf(context, tenant), taskId, id);
    return '{}';
  };

  const extendedCard: Method = async (_params, context) => {
    if (!capabilities.extendedCard) {
      throw new SealaneError(
        'unsupported-operation',
        'There is no extended card here: the public one says everything.',
      );
    }
    return await deps.extendedCard(context);
  };

  return {
    versions: [DIALECT],
    encodeError: encodeRpcError,
    methods: new Map([
      ['SendMessage', send],
      ['SendStreamingMessage', stream],
      ['GetTask', get],
      ['ListTasks', list],
      ['CancelTask', cancel],
      ['SubscribeToTask', subscribe],
      ['CreateTaskPushNotificationConfig', createPushConfig],
      ['GetTaskPushNotificationConfig', getPushConfig],
      ['ListTaskPushNotificationConfigs', listPushConfigs],
      ['DeleteTaskPushNotificationConfig', deletePushConfig],
      ['GetExtendedAgentCard', extendedCard],
    ]),
  };
};

export const requireStreaming = ({ capabilities }: ProtocolDeps): void => {
  if (capabilities.streaming) return;
  throw new SealaneError('unsupported-operation', 'There are no streams here: send without one, and poll the task.');
};

export const requirePush = ({ capabilities }: ProtocolDeps): void => {
  if (!capabilities.pushNotifications) throw noPush();
};
