import { type JsonObject, TERMINAL_STATES } from '#domain';

import type { AuditEvent, KeyRecord, LaneView, Overdue, StoreCounts } from '../storage.ts';
import type { AgentName, Instant, TaskId } from '../task-store.ts';
import { isoOf } from './event-text.ts';
import { PAUSE_AGENT, PAUSE_LANE, PAUSED_AGENTS, RESUME_AGENT } from './lanes.sql.ts';
import { makeReady } from './lanes.ts';
import { deleteTask } from './remove.ts';
import {
  ADD_KEY,
  type AuditRow,
  COUNT_TURNS,
  DROP_UNPAUSED_LANE,
  ENDED_BEFORE,
  ENDED_OF_CONTEXT,
  ENDED_OF_OWNER,
  EXPIRE_AUDIT,
  INTERRUPTED_BEFORE,
  KEY_BY_HASH,
  type KeyRow,
  LIST_AUDIT,
  LIST_KEYS,
  LIST_LANES,
  QUEUED_BEFORE,
  REMOVED_BEFORE,
  RETRY_BEFORE,
  RECORD_AUDIT,
  REVOKE_KEY,
} from './records.sql.ts';
import { all, first, type Steps, wake } from './step.ts';

// Lanes, as the operator sees and stops them.

export function* listLanes(query: {
  readonly agent?: AgentName;
  readonly owner?: string;
  readonly limit: number;
  readonly after?: string;
}): Steps<readonly LaneView[]> {
  const { agent = null, owner = null, after = '', limit } = query;
  const rows = yield* all(LIST_LANES, after, agent, agent, owner, owner, limit);
  return rows.map((row) => ({ ...row, paused: row.paused === 1 }));
}

export function* pauseLane(lane: string, paused: boolean, by: string, at: Instant): Steps<boolean> {
  const row = yield* first(PAUSE_LANE, paused ? 1 : 0, lane);
  if (!row) return false;
  yield* record({ at, kind: paused ? 'lane-paused' : 'lane-resumed', actor: by, subject: lane, facts: {} });
  if (!paused && row.waiting > 0 && row.holder === null) yield* makeReady(row);
  if (!paused) yield* first(DROP_UNPAUSED_LANE, row.k);
  return true;
}

export function* pauseAgent(agent: AgentName, paused: boolean, by: string, at: Instant): Steps<void> {
  yield* first(paused ? PAUSE_AGENT : RESUME_AGENT, agent);
  yield* record({ at, kind: paused ? 'agent-paused' : 'agent-resumed', actor: by, subject: agent, facts: {} });
  yield* wake();
}

export function* pausedAgents(): Steps<readonly AgentName[]> {
  return (yield* all(PAUSED_AGENTS)).map((row) => row.agent);
}

// API keys.

export function* addKey(key: KeyRecord): Steps<'added' | 'name-taken'> {
  const added = yield* first(
    ADD_KEY,
    key.id,
    key.name,
    key.owner,
    key.hash,
    key.admin ? 1 : 0,
    key.agents && JSON.stringify(key.agents),
    key.permission,
    key.ratePerMinute,
    key.createdAt,
    key.expiresAt,
    key.revokedAt,
  );
  return added ? 'added' : 'name-taken';
}

const keyOf = (row: KeyRow): KeyRecord => ({
  id: row.id,
  name: row.name,
  owner: row.owner,
  hash: row.hash,
  admin: row.admin === 1,
  agents: row.agents === null ? null : (JSON.parse(row.agents) as string[]),
  permission: row.permission,
  ratePerMinute: row.rate_per_minute,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  revokedAt: row.revoked_at,
});

export function* findKey(hash: string): Steps<KeyRecord | undefined> {
  const row = yield* first(KEY_BY_HASH, hash);
  return row && keyOf(row);
}

export function* listKeys(): Steps<readonly KeyRecord[]> {
  return (yield* all(LIST_KEYS)).map(keyOf);
}

export function* revokeKey(idOrName: string, at: Instant): Steps<boolean> {
  return (yield* first(REVOKE_KEY, at, idOrName, idOrName)) !== undefined;
}

// The audit.

export function* record(event: AuditEvent): Steps<void> {
  yield* first(RECORD_AUDIT, event.at, event.kind, event.actor, event.subject, JSON.stringify(event.facts));
}

export function* listAudit(query: {
  readonly subject?: string;
  readonly kind?: string;
  readonly limit: number;
}): Steps<readonly AuditEvent[]> {
  const { subject = null, kind = null, limit } = query;
  const rows: readonly AuditRow[] = yield* all(LIST_AUDIT, subject, subject, kind, kind, limit);
  return rows.map((row) => ({ ...row, facts: JSON.parse(row.facts) as JsonObject }));
}

// What the janitor needs.

export function* overdue(limits: {
  readonly queuedBefore: Instant;
  readonly interruptedBefore: Instant;
  readonly limit: number;
}): Steps<readonly Overdue[]> {
  const queued = yield* all(QUEUED_BEFORE, limits.queuedBefore, limits.limit);
  const retries = yield* all(RETRY_BEFORE, limits.queuedBefore, limits.limit);
  const interrupted = yield* all(INTERRUPTED_BEFORE, isoOf(limits.interruptedBefore), limits.limit);
  return [
    ...queued.map(({ id }) => ({ id, why: 'queued' as const })),
    ...retries.map(({ id }) => ({ id, why: 'retry' as const })),
    ...interrupted.map(({ id }) => ({ id, why: 'interrupted' as const })),
  ];
}

/** How much longer the audit is kept than the tasks that it is about. */
const AUDIT_MS = 90 * 24 * 3600 * 1000;

export function* expire(endedBefore: Instant, limit: number): Steps<number> {
  const rows: { readonly k: number; readonly id: TaskId }[] = [];
  for (const state of TERMINAL_STATES) {
    if (rows.length < limit) rows.push(...(yield* all(ENDED_BEFORE, state, isoOf(endedBefore), limit - rows.length)));
  }
  for (const { k, id } of rows) yield* deleteTask(k, id);
  yield* first(EXPIRE_AUDIT, endedBefore - AUDIT_MS);
  return rows.length;
}

/** Deletes the rows of removed tasks about which nothing is owed any more. */
export function* dropRemoved(removedBefore: Instant, limit: number): Steps<number> {
  const rows = yield* all(REMOVED_BEFORE, isoOf(removedBefore), limit);
  for (const { k, id } of rows) yield* deleteTask(k, id);
  return rows.length;
}

export function* purge(what: {
  readonly owner?: string;
  readonly contextId?: string;
  readonly limit: number;
}): Steps<number> {
  const { owner, contextId, limit } = what;
  let rows: readonly { k: number; id: string }[] = [];
  if (contextId !== undefined) rows = yield* all(ENDED_OF_CONTEXT, contextId, owner ?? null, owner ?? null, limit);
  else if (owner !== undefined) rows = yield* all(ENDED_OF_OWNER, owner, limit);
  for (const { k, id } of rows) yield* deleteTask(k, id);
  return rows.length;
}

export function* counts(): Steps<StoreCounts> {
  const row = yield* first(COUNT_TURNS);
  return { waiting: row?.waiting ?? 0, running: row?.running ?? 0, oldestWaitingSince: row?.oldest ?? null };
}
