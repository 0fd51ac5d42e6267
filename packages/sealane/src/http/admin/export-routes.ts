import { Readable } from 'node:stream';

import { onOneLine } from '#domain';
import { findId, invalid } from '#protocol';
import type { Storage, StoredTask } from '#store';

import { holderOf } from '../access.ts';
import { bodyOf, queryOf } from './admin-request.ts';
import type { AdminScope } from './admin-scope.ts';
import { encodeAdminEvent, encodeTaskView } from './task-view.ts';

const TASKS_AT_ONCE = 50;
const EVENTS_AT_ONCE = 500;
const REMOVED_AT_ONCE = 500;

export const addExportRoutes = ({ add, send, deps }: AdminScope): void => {
  const { storage } = deps;

  add('/export', {
    GET: async (request, reply) => {
      const query = queryOf(request);
      const owner = findId(query['owner'], 'owner');
      const contextId = findId(query['contextId'], 'contextId');
      const filter = { ...(owner !== undefined && { owner }), ...(contextId !== undefined && { contextId }) };
      const trace = { kind: 'export', actor: holderOf(request).keyId, subject: owner ?? contextId ?? 'store' };
      // On a full disk nothing can be recorded, and tasks can still be read.
      await storage.audit
        .record({ at: deps.now(), ...trace, facts: filter })
        .catch((err: unknown) => deps.log.error({ err, ...trace }, 'an export could not be recorded in the audit'));
      const lines = Readable.from(exportLines(storage, filter), { objectMode: false, highWaterMark: 64 * 1024 });
      lines.on('error', (err) => deps.log.error({ err, reqId: request.id }, 'an export broke off'));
      return reply.header('content-type', 'application/x-ndjson').header('cache-control', 'no-store').send(lines);
    },
  });

  add('/purge', {
    POST: async (request, reply) => {
      const body = bodyOf(request);
      const owner = findId(body['owner'], 'owner');
      const contextId = findId(body['contextId'], 'contextId');
      if (owner === undefined && contextId === undefined)
        throw invalid('owner', 'or contextId must be given: what is to be purged?');
      const what = { ...(owner !== undefined && { owner }), ...(contextId !== undefined && { contextId }) };
      let removed = 0;
      // Small steps, so that nobody waits behind a long one.
      for (let count = REMOVED_AT_ONCE; count === REMOVED_AT_ONCE; removed += count) {
        count = await storage.upkeep.purge({ ...what, limit: REMOVED_AT_ONCE });
      }
      const subject = owner ?? contextId ?? '';
      await storage.audit.record({
        at: deps.now(),
        kind: 'purge',
        actor: holderOf(request).keyId,
        subject,
        facts: { ...what, removed },
      });
      send(request, reply, 200, JSON.stringify({ removed }));
    },
  });
};

/** A line per task, in pieces: neither all tasks nor all events of one are ever in memory. */
async function* exportLines(storage: Storage, filter: { owner?: string; contextId?: string }): AsyncGenerator<string> {
  let after: string | undefined;
  do {
    const page = await storage.tasks.list('all', {
      ...filter,
      ...(after !== undefined && { after }),
      limit: TASKS_AT_ONCE,
      order: 'inserted',
      withArtifacts: true,
    });
    for (const task of page.tasks) yield* exportTask(storage, task);
    after = page.next;
  } while (after !== undefined);
}

async function* exportTask(storage: Storage, task: StoredTask): AsyncGenerator<string> {
  yield `{"task":${onOneLine(encodeTaskView(task))},"events":[`;
  // Up to the number that the task itself is of, so that both tell the same story.
  let seen = 0;
  while (seen < task.seq) {
    const events = await storage.tasks.read('all', task.id, seen, Math.min(EVENTS_AT_ONCE, task.seq - seen));
    const last = events.at(-1);
    // Deleted meanwhile.
    if (last === undefined) break;
    yield `${seen === 0 ? '' : ','}${onOneLine(events.map(encodeAdminEvent).join(','))}`;
    seen = last.seq;
  }
  yield ']}\n';
}
