import * as admission from './admit.ts';
import * as cancelling from './cancel.ts';
import * as cardKeys from './card-keys.ts';
import * as claiming from './claim.ts';
import * as listing from './list.ts';
import * as owing from './outbox.ts';
import * as putting from './put.ts';
import * as reading from './read.ts';
import * as records from './records.ts';
import * as running from './run.ts';
import type { Steps } from './step.ts';
import * as webhooks from './webhooks.ts';

/** Every atomic step that changes something, by the name it has in the port. */
export const WRITES = {
  admit: admission.admit,
  follow: admission.follow,
  claim: claiming.claim,
  append: running.append,
  remember: running.remember,
  finish: running.finish,
  release: running.release,
  requestCancel: cancelling.requestCancel,
  force: cancelling.force,
  renew: claiming.renew,
  leave: claiming.leave,
  reap: claiming.reap,
  put: putting.put,
  remove: putting.remove,
  pauseLane: records.pauseLane,
  pauseAgent: records.pauseAgent,
  addKey: records.addKey,
  revokeKey: records.revokeKey,
  replaceCardKey: cardKeys.replaceCardKey,
  forgetCardKeys: cardKeys.forgetCardKeys,
  record: records.record,
  savePushConfig: webhooks.savePushConfig,
  removePushConfig: webhooks.removePushConfig,
  claimOwed: owing.claimOwed,
  doneOwed: owing.doneOwed,
  failedOwed: owing.failedOwed,
  expire: records.expire,
  purge: records.purge,
} as const;

/** Every step that only looks; it sees one snapshot of the database. */
export const READS = {
  find: reading.find,
  read: reading.read,
  list: listing.list,
  interventions: claiming.interventions,
  listLanes: records.listLanes,
  pausedAgents: records.pausedAgents,
  findKey: records.findKey,
  listKeys: records.listKeys,
  listCardKeys: cardKeys.listCardKeys,
  listAudit: records.listAudit,
  listPushConfigs: webhooks.listPushConfigs,
  overdue: records.overdue,
  counts: records.counts,
} as const;

export type WriteName = keyof typeof WRITES;
export type ReadName = keyof typeof READS;
export type StepArgs<F> = F extends (...args: infer A) => unknown ? A : never;
export type StepResult<F> = F extends (...args: never[]) => Steps<infer T> ? T : never;
