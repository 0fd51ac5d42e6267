/**
 * The store: everything Sealane keeps, and the atomic steps in which it changes. `task-store.ts` is the port with its
 * promises; `steps/` holds the one algorithm, written once as generators of SQL statements; `sqlite/` and `postgres/`
 * are drivers that execute them. It decides nothing about agents or callers.
 */
export { isTaskStore, missingMembers, requireTaskStore } from './is-task-store.ts';
export { requireStorage } from './require-storage.ts';
export { openStore } from './open-store.ts';
export type { OutboxStore, Owed, OwedClaim } from './outbox-store.ts';
export type {
  AuditEvent,
  AuditLog,
  KeyRecord,
  CardKeyRecord,
  CardKeyStore,
  KeyStore,
  LaneStore,
  LaneView,
  PushConfigRecord,
  PushConfigStore,
  Storage,
  Overdue,
  StoreCounts,
  Upkeep,
} from './storage.ts';
export type {
  Admission,
  Admitted,
  AgentName,
  Appended,
  CallFacts,
  CancelRequest,
  ClaimedRun,
  Finished,
  FollowUp,
  InstanceId,
  Instant,
  ListQuery,
  NewWebhook,
  OwnRuns,
  Page,
  PutTask,
  QueueLimits,
  Refusal,
  Result,
  Run,
  RunToken,
  Scope,
  Slot,
  StoredTask,
  TaskId,
  TaskStore,
} from './task-store.ts';
export { COUNT_LIMIT } from './task-store.ts';
