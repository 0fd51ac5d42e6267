/**
 * Views: the store and the service under the names that other programs were written for. Each is a thin layer over
 * the one store; none has state of its own that could disagree with it. `task-records.ts` is a store of whole tasks,
 * `task-shelf.ts` a smaller one with a capacity, `session-service.ts` the service for hosts that own the sessions.
 */
export { createSessionAgent, createSessionService } from './session-service.ts';
export type { SessionAgent, SessionHost, SessionService, TaskResult } from './session-service.ts';
export { createTaskRecords } from './task-records.ts';
export type { ListTasksParams, ListTasksResult, TaskRecords, TaskRecordsOptions } from './task-records.ts';
export { createTaskShelf } from './task-shelf.ts';
export type { KeptPushConfig, ShelfPushConfig, TaskShelf, TaskShelfOptions } from './task-shelf.ts';
export type { ShelfInput, ShelfStatus, ShelfTask } from './shelf-task.ts';
export type { TaskInput, ViewTask } from './seed-task.ts';
