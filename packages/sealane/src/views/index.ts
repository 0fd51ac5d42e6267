/**
 * Views: the store and the service under the names that other programs expect. Each view is a thin layer over the one
 * store, and has no state of its own that could disagree with it. Start with `task-records.ts` (a store of whole
 * tasks), then `task-shelf.ts` (a smaller one with a capacity) and `session-service.ts` (the service for hosts that own
 * the sessions).
 */
export { createSessionAgent, createSessionService } from './session-service.ts';
export type { SessionAgent, SessionHost, SessionService, TaskResult } from './session-service.ts';
export { createTaskRecords } from './task-records.ts';
export type { ListTasksParams, ListTasksResult, TaskRecords, TaskRecordsOptions } from './task-records.ts';
export { createTaskShelf } from './task-shelf.ts';
export type { KeptPushConfig, ShelfPushConfig, TaskShelf, TaskShelfOptions } from './task-shelf.ts';
export type { ShelfInput, ShelfStatus, ShelfTask } from './shelf-task.ts';
export type { TaskInput, ViewTask } from './seed-task.ts';
