import type { Event, NewEvent, Seq } from '#domain';

import type { Storage, Upkeep } from './storage.ts';
import { assembleAdmitted } from './steps/admission.ts';
import type { READS, ReadName, StepArgs, StepResult, WriteName, WRITES } from './steps/index.ts';
import { numbered } from './steps/event-text.ts';
import type { Result } from './result.ts';
import type { Instant, TaskId } from './task-store.ts';

/** What a database must do to be a store: execute the steps atomically, and tell about commits. */
export interface Driver {
  readonly description: string;
  readonly notices?: readonly string[];
  readonly exclusive: boolean;
  /** Resolves after the durable commit. */
  write<N extends WriteName>(name: N, ...args: StepArgs<(typeof WRITES)[N]>): Promise<StepResult<(typeof WRITES)[N]>>;
  read<N extends ReadName>(name: N, ...args: StepArgs<(typeof READS)[N]>): Promise<StepResult<(typeof READS)[N]>>;
  check(): Promise<string | undefined>;
  readonly backup?: (file: string) => Promise<void>;
  /** Gives free pages back to the disk, a few at a time. */
  readonly compact?: () => Promise<void>;
  onWake(listener: (ids: readonly TaskId[]) => void): Disposable;
  /** Calls the listener after a commit of this instance that owes a follower something. */
  onOwed(listener: () => void): Disposable;
  onCommit(listener: (durationMs: number) => void): Disposable;
  /** Calls the listener when the driver has failed for good. Drivers that cannot fail for good leave this out. */
  readonly onFatal?: (listener: (error: Error) => void) => Disposable;
  close(): Promise<void>;
}

const mapped = <A, B>(result: Result<A>, map: (value: A) => B): Result<B> =>
  result.ok ? { ok: true, value: map(result.value) } : result;

/** The events that a caller sent, as the log has them. Only the last number has to come back from the store. */
const committed = (events: readonly NewEvent[], lastSeq: Seq, at: Instant): readonly Event[] =>
  numbered(lastSeq - events.length + 1, events, at);

/** The ports over a driver. Every call runs the step of the same name. */
export const createStepStorage = (driver: Driver): Storage => {
  const upkeep: Upkeep = {
    overdue: (limits) => driver.read('overdue', limits),
    expire: async (endedBefore, limit) => {
      const expired = await driver.write('expire', endedBefore, limit);
      if (expired > 0) await driver.compact?.();
      return expired;
    },
    dropRemoved: (removedBefore, limit) => driver.write('dropRemoved', removedBefore, limit),
    purge: (what) => driver.write('purge', what),
    counts: () => driver.read('counts'),
    check: () => driver.check(),
  };
  const { backup, onFatal } = driver;
  return {
    description: driver.description,
    notices: driver.notices ?? [],
    tasks: {
      exclusive: driver.exclusive,
      admit: async (admission) =>
        mapped(await driver.write('admit', admission), (outcome) => assembleAdmitted(admission, outcome)),
      follow: (followUp) => driver.write('follow', followUp),
      claim: (request) => driver.write('claim', request),
      append: async (run, events, at) =>
        mapped(await driver.write('append', run, events, at), ({ seq }) => ({ events: committed(events, seq, at) })),
      remember: (run, ref) => driver.write('remember', run, ref),
      finish: async (run, events, at, release, isAwaited) =>
        mapped(await driver.write('finish', run, events, at, release, isAwaited), ({ seq, task }) => ({
          ...(task && { task }),
          events: committed(events, seq, at),
        })),
      release: (run, at, retryAt, isDrain) => driver.write('release', run, at, retryAt, isDrain),
      requestCancel: (scope, id, by, at) => driver.write('requestCancel', scope, id, by, at),
      force: (id, from, event, at) => driver.write('force', id, from, event, at),
      renew: (instance, leaseMs) => driver.write('renew', instance, leaseMs),
      leave: (instance) => driver.write('leave', instance),
      reap: (instance, at, mine) => driver.write('reap', instance, at, mine),
      interventions: (instance) => driver.read('interventions', instance),
      find: (scope, id) => driver.read('find', scope, id),
      peek: (scope, id) => driver.read('peek', scope, id),
      read: (scope, id, after, limit) => driver.read('read', scope, id, after, limit),
      list: (scope, query) => driver.read('list', scope, query),
      put: (request) => driver.write('put', request),
      remove: (scope, id, at) => driver.write('remove', scope, id, at),
      onWake: (listener) => driver.onWake(listener),
    },
    lanes: {
      list: (query) => driver.read('listLanes', query),
      pause: (lane, paused, by, at) => driver.write('pauseLane', lane, paused, by, at),
      pauseAgent: (agent, paused, by, at) => driver.write('pauseAgent', agent, paused, by, at),
      pausedAgents: () => driver.read('pausedAgents'),
    },
    keys: {
      add: (key) => driver.write('addKey', key),
      findByHash: (hash) => driver.read('findKey', hash),
      list: () => driver.read('listKeys'),
      revoke: (idOrName, at) => driver.write('revokeKey', idOrName, at),
    },
    cardKeys: {
      list: () => driver.read('listCardKeys'),
      replace: (former, next, at) => driver.write('replaceCardKey', former, next, at),
      forget: (retiredBefore) => driver.write('forgetCardKeys', retiredBefore),
    },
    audit: {
      record: (event) => driver.write('record', event),
      list: (query) => driver.read('listAudit', query),
    },
    pushConfigs: {
      save: (scope, taskId, webhook) => driver.write('savePushConfig', scope, taskId, webhook),
      list: (scope, taskId) => driver.read('listPushConfigs', scope, taskId),
      remove: (scope, taskId, id) => driver.write('removePushConfig', scope, taskId, id),
      at: (target) => driver.read('pushConfigAt', target),
    },
    outbox: {
      follow: (scope, id, follower) => driver.write('followTask', scope, id, follower),
      unfollow: (scope, id, follower) => driver.write('unfollowTask', scope, id, follower),
      // The driver's types know a step by its name. They cannot say that one step serves every kind.
      claim: (request) => driver.write('claimOwed', request) as Promise<never>,
      read: (follower, from, limit) => driver.read('readOwed', follower, from, limit),
      task: (follower) => driver.read('followedTask', follower),
      log: (follower, after, limit) => driver.read('followedLog', follower, after, limit),
      advance: (claim, handled, leaseMs, effect) =>
        driver.write('advanceOwed', claim, handled, leaseMs, effect) as Promise<never>,
      onOwed: (listener) => driver.onOwed(listener),
    },
    upkeep: backup ? { ...upkeep, backup: (file) => backup(file) } : upkeep,
    onCommit: (listener) => driver.onCommit(listener),
    ...(onFatal && { onFatal }),
    close: () => driver.close(),
    [Symbol.asyncDispose]: () => driver.close(),
  };
};
