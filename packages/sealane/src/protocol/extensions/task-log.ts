import { SealaneError } from '#domain';
import type { Caller } from '#engine';

import type { Method, ProtocolDeps } from '../dialect.ts';
import { encodeEvent } from '../event-encoder.ts';
import { findInteger, requireFields } from '../field-reader.ts';
import { decodeTaskParams } from '../request-decoder.ts';
import { callerOf } from '../send-request.ts';
import { findNamed, nameTask } from '../v01/client-task.ts';
import type { Extension } from './extension.ts';

const MAX_EVENTS = 1000;
const DEFAULT_EVENTS = 100;
const MAX_SEQ = 999_999_999_999_999;

const createMethods = ({ service }: ProtocolDeps): ReadonlyMap<string, Method> => {
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

  return new Map([
    ['tasks/events', events],
    ['tasks/delete', remove],
  ]);
};

/** A task's log as numbered events, and its deletion: docs/extensions/task-log.md. */
export const TASK_LOG: Extension = {
  declaration: {
    uri: 'https://sealane.dev/extensions/task-log/v1',
    description: 'Numbered events that can be read again (tasks/events, Last-Event-ID), and tasks/delete.',
  },
  methods: createMethods,
  routes: [
    { verb: 'GET', path: '/tasks/{id}/events', method: 'tasks/events', query: { after: 'integer', limit: 'integer' } },
    { verb: 'DELETE', path: '/tasks/{id}', method: 'tasks/delete' },
  ],
};
