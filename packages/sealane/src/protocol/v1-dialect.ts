import { hash } from 'node:crypto';

import { SealaneError } from '#domain';
import type { Caller, SendRequest, TaskService } from '#engine';

import { decodeLastEventId, decodeSendFacts } from './call-headers.ts';
import type { CallContext, Dialect, Method } from './dialect.ts';
import { encodeRpcError } from './errors.ts';
import { DIALECT, encodeStreamItem } from './event-encoder.ts';
import {
  decodeGetParams,
  decodeListParams,
  decodeSendParams,
  decodeTaskParams,
  noPush,
  type SendParams,
} from './request-decoder.ts';
import { encodePage, encodeTask } from './task-encoder.ts';

/** A2A 1.0: its eleven methods over the task service. */
export const createV1Dialect = (service: TaskService): Dialect => {
  const send: Method = async (params, context) => {
    const sent = decodeSendParams(params);
    const outcome = await service.send(callerOf(context, sent.tenant), sendRequestOf(sent, context), {
      wait: !sent.returnImmediately,
      signal: context.signal,
    });
    return outcome.kind === 'task'
      ? `{"task":${encodeTask(outcome.task, { historyLength: sent.historyLength })}}`
      : `{"message":${JSON.stringify(outcome.message)}}`;
  };

  const stream: Method = async (params, context) => {
    const sent = decodeSendParams(params);
    const options = streamOptionsOf(context);
    const items = await service.stream(callerOf(context, sent.tenant), sendRequestOf(sent, context), options);
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
    const { id, tenant } = decodeTaskParams(params);
    const items = await service.subscribe(callerOf(context, tenant), id, streamOptionsOf(context));
    return { items, encode: (item) => encodeStreamItem(item) };
  };

  return {
    version: DIALECT,
    encodeError: encodeRpcError,
    methods: new Map([
      ['SendMessage', send],
      ['SendStreamingMessage', stream],
      ['GetTask', get],
      ['ListTasks', list],
      ['CancelTask', cancel],
      ['SubscribeToTask', subscribe],
      ['CreateTaskPushNotificationConfig', refusePush],
      ['GetTaskPushNotificationConfig', refusePush],
      ['ListTaskPushNotificationConfigs', refusePush],
      ['DeleteTaskPushNotificationConfig', refusePush],
      ['GetExtendedAgentCard', refuseExtendedCard],
    ]),
  };
};

const refusePush: Method = async () => {
  throw noPush();
};

const refuseExtendedCard: Method = async () => {
  throw new SealaneError('unsupported-operation', 'There is no extended card here: the public one says everything.');
};

const callerOf = ({ caller }: CallContext, tenant: string | undefined): Caller =>
  tenant === undefined ? caller : { ...caller, tenant };

const streamOptionsOf = ({ headers, signal }: CallContext) => {
  const lastEventId = decodeLastEventId(headers);
  return lastEventId === undefined ? { signal } : { lastEventId, signal };
};

const sendRequestOf = (sent: SendParams, context: CallContext): SendRequest => {
  const { message, metadata } = sent;
  const agent = context.agent ?? sent.executor;
  const facts = decodeSendFacts(context.headers);
  return {
    message,
    dialect: DIALECT,
    ...(agent !== undefined && { agent }),
    ...(metadata !== undefined && { metadata }),
    ...facts,
    ...(facts.idempotencyKey !== undefined && { bodyHash: bodyHashOf(sent, agent) }),
  };
};

/**
 * What makes two sends the same work: message, metadata and whom they go to. How the answer is wanted (`configuration`)
 * and the JSON-RPC id may differ between a send and its repetition.
 */
const bodyHashOf = ({ message, metadata, tenant }: SendParams, agent: string | undefined): string =>
  hash('sha256', JSON.stringify([agent ?? null, tenant ?? null, message, metadata ?? null]), 'hex');
