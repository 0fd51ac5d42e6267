import { SealaneError } from '#domain';
import type { Caller } from '#engine';

import type { Dialect, Method, ProtocolDeps } from './dialect.ts';
import { encodeRpcError } from './errors.ts';
import { encodeEvent } from './event-encoder.ts';
import { findInteger, requireFields } from './field-reader.ts';
import { decodeTaskParams } from './request-decoder.ts';
import { callerOf } from './send-request.ts';
import { findNamed, nameTask } from './v01/client-task.ts';

const MAX_EVENTS = 1000;
const DEFAULT_EVENTS = 100;
const MAX_SEQ = 999_999_999_999_999;

/** The methods of Sealane's own extension (docs/extensions/task-log.md): a task's log by number, and its deletion. */
export const createTaskLogDialect = ({ service }: ProtocolDeps): Dialect => {
  /** Of the task of that id, or of the one that its caller has named so: clients of 0.1 know theirs by nothing else. */
  const ofTask = async <T>(caller: Caller, id: string, ask: (id: string) => Promise<T>): Promise<T> => {
    try {
      return await ask(id);
    } catch (refusal) {
      const isUnknown = refusal instanceof SealaneError && refusal.code === 'task-not-found';
      const named = isUnknown ? await findNamed(service, caller, id) : undefined;
      if (named === undefined) throw refusal;
      return await ask(named.id).catch((again: unknown) => {
        throw nameTask(again, named.id, id);
      });
    }
  };

  const events: Method = async (params, context) => {
    const fields = requireFields(params, 'params');
    const { id, tenant } = decodeTaskParams(params);
    const after = findInteger(fields['after'], 'after', 0, MAX_SEQ) ?? 0;
    const limit = findInteger(fields['limit'], 'limit', 1, MAX_EVENTS) ?? DEFAULT_EVENTS;
    const caller = callerOf(context, tenant);
    const read = await ofTask(caller, id, (known) => service.events(caller, known, after, limit));
    const items = read.events.map((event) => `{"seq":${event.seq},"event":${encodeEvent(event, read.task)}}`);
    return `{"events":[${items.join(',')}],"lastSeq":${read.task.seq}}`;
  };

  const remove: Method = async (params, context) => {
    const { id, tenant } = decodeTaskParams(params);
    const caller = callerOf(context, tenant);
    await ofTask(caller, id, (known) => service.remove(caller, known));
    return '{}';
  };

  return {
    versions: [],
    encodeError: encodeRpcError,
    methods: new Map([
      ['tasks/events', events],
      ['tasks/delete', remove],
    ]),
  };
};
