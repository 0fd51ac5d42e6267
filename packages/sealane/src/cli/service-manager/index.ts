/**
 * Keeps the service running with the means of the system: a systemd user unit, or a launchd agent. It writes one file,
 * calls the system's own programs and reads their output. It never needs root, and writes no secret. Start with
 * `service-manager.ts` (what a manager can do), then `service-plan.ts` (what is started).
 */
export { requireManager } from './find-manager.ts';
export { findInstalled, installService, type InstalledNow, planOf, readyAnswer } from './install-service.ts';
export { passThrough } from './run-tool.ts';
