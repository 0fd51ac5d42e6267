/**
 * The steps: every atomic change of the store, and every read, written once for all databases. A step decides from rows
 * alone: it has no clock, no randomness and no I/O of its own, and it calls no agent. A refusal is a value
 * (`../result.ts`). Start with `step.ts` (what a step is), then `commit-events.ts` (the only way into the log), then
 * `admit.ts`, `claim.ts` and `finish.ts` (the life of a turn). Statements are in the `.sql.ts` files.
 */
import * as admission from './admit.ts';
import * as appending from './append.ts';
import * as cardKeys from './card-keys.ts';
import * as claiming from './claim.ts';
import * as ending from './end-task.ts';
import * as finishing from './finish.ts';
import * as following from './following.ts';
import * as followUps from './follow-up.ts';
import * as leases from './leases.ts';
import * as listing from './list.ts';
import * as outbox from './outbox.ts';
import * as putting from './put.ts';
import * as reaping from './reap.ts';
import * as records from './records.ts';
import * as releasing from './release.ts';
import * as removing from './remove.ts';
import type { Steps } from './step.ts';
import * as view from './task-view.ts';
import * as webhooks from './webhooks.ts';

/** Every atomic step that changes something, by the name it has in the port. */
export const WRITES = {
  admit: admission.admit,
  follow: followUps.follow,
  claim: claiming.claim,
  append: appending.append,
  remember: releasing.remember,
  finish: finishing.finish,
  release: releasing.release,
  requestCancel: ending.requestCancel,
  force: ending.force,
  renew: leases.renew,
  leave: leases.leave,
  reap: reaping.reap,
  put: putting.put,
  remove: removing.remove,
  pauseLane: records.pauseLane,
  pauseAgent: records.pauseAgent,
  addKey: records.addKey,
  revokeKey: records.revokeKey,
  replaceCardKey: cardKeys.replaceCardKey,
  forgetCardKeys: cardKeys.forgetCardKeys,
  record: records.record,
  savePushConfig: webhooks.savePushConfig,
  removePushConfig: webhooks.removePushConfig,
  followTask: following.followTask,
  unfollowTask: following.unfollowTask,
  claimOwed: outbox.claimOwed,
  advanceOwed: outbox.advanceOwed,
  expire: records.expire,
  dropRemoved: records.dropRemoved,
  purge: records.purge,
} as const;

/** Every step that only reads. It sees one snapshot of the database. */
export const READS = {
  find: view.find,
  peek: view.peek,
  read: view.read,
  list: listing.list,
  interventions: leases.interventions,
  listLanes: records.listLanes,
  pausedAgents: records.pausedAgents,
  findKey: records.findKey,
  listKeys: records.listKeys,
  listCardKeys: cardKeys.listCardKeys,
  listAudit: records.listAudit,
  listPushConfigs: webhooks.listPushConfigs,
  pushConfigAt: webhooks.pushConfigAt,
  readOwed: outbox.readOwed,
  followedTask: outbox.followedTask,
  followedLog: outbox.followedLog,
  overdue: records.overdue,
  counts: records.counts,
} as const;

export type WriteName = keyof typeof WRITES;
export type ReadName = keyof typeof READS;
export type StepArgs<F> = F extends (...args: infer A) => unknown ? A : never;
export type StepResult<F> = F extends (...args: never[]) => Steps<infer T> ? T : never;
