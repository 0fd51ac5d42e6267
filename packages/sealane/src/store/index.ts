/**
 * The store: everything that Sealane keeps, and the atomic steps that change it. `task-store.ts` is the port with its
 * promises; `steps/` has the one algorithm, written once as generators of SQL statements; `sqlite/` and `postgres/` are
 * the drivers that execute them. The store decides nothing about agents or callers. Start with `task-store.ts`, then
 * `steps/step.ts` and `steps/commit-events.ts`.
 */
export { isTaskStore, missingMembers, requireTaskStore } from './is-task-store.ts';
export { requireStorage } from './require-storage.ts';
export { openStore } from './open-store.ts';
export type { Condition, ConditionName, RefusedCondition } from './condition.ts';
export type { FollowerKind, NewFollower, Subject } from './follower.ts';
export type {
  Advanced,
  FollowerAnswers,
  FollowerEffects,
  Handled,
  OutboxStore,
  Owed,
  OwedClaim,
  OwedEvents,
  OwedRange,
} from './outbox-store.ts';
export type { Refusal, Refused, Result } from './result.ts';
export { MIGRATIONS } from './schema.sql.ts';
export { createStepStorage, type Driver } from './step-storage.ts';
export { READS, WRITES } from './steps/index.ts';
export { Refused as StepRefused, type Statement, type Step, StepConflict, type Steps } from './steps/step.ts';
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
  FinishedRun,
  FollowUp,
  InstanceId,
  Instant,
  ListQuery,
  NewWebhook,
  OwnRuns,
  Page,
  PutTask,
  QueueLimits,
  Removed,
  Run,
  RunToken,
  Scope,
  Slot,
  StoredTask,
  TaskFacts,
  TaskId,
  TaskStore,
} from './task-store.ts';
export { COUNT_LIMIT } from './task-store.ts';
