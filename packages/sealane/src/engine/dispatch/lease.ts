import type { InstanceId, TaskStore } from '#store';

/**
 * The right of this instance to run things. In a store that one process owns, the instance takes the lease once, and it
 * ends with the process. In a shared store the lease is a row that must be renewed. It counts from before the renewal was
 * sent. If no renewal succeeds, the instance aborts all its runs one second before the lease ends, so that an instance
 * that takes over finds nothing alive. An expired lease is never revived: the instance goes on under a new id.
 */
export interface Lease {
  readonly instance: InstanceId;
  /** False when runs must not start: the lease is not taken yet, about to end, or over. */
  isValid(): boolean;
  start(): Promise<void>;
  /** Gives the lease up for good. Other instances can take over the runs that it still holds at once. */
  stop(): Promise<void>;
}

export interface LeaseOptions {
  readonly store: TaskStore;
  readonly newId: () => InstanceId;
  readonly leaseMs: number;
  readonly renewMs: number;
  /** All runs of this instance must die now. */
  readonly onLost: (instance: InstanceId) => void;
}

/** Runs abort this long before the lease ends. */
const MARGIN_MS = 1000;
const FOR_EVER_MS = 100 * 365 * 24 * 3600 * 1000;

export const createLease = (options: LeaseOptions): Lease => {
  const { store } = options;
  let instance = options.newId();
  let validUntil = 0;
  // While the machine sleeps, the monotonic clock stops and the lease does not. The wall clock shows it.
  let validUntilWall = 0;
  let watchdog: NodeJS.Timeout | undefined;
  let beat: NodeJS.Timeout | undefined;
  let isStopped = false;

  const isValid = (): boolean => performance.now() < validUntil && Date.now() < validUntilWall;

  const lose = (): void => {
    if (validUntil === 0) return;
    validUntil = 0;
    const lost = instance;
    instance = options.newId();
    options.onLost(lost);
  };

  const renew = async (): Promise<void> => {
    if (validUntil !== 0 && !isValid()) lose();
    const sentAt = performance.now();
    const sentAtWall = Date.now();
    const mine = instance;
    const result = await store.renew(mine, store.exclusive ? FOR_EVER_MS : options.leaseMs);
    // The answer is about a lease that was lost or given up in the meantime.
    if (isStopped || mine !== instance) return;
    // An answer that comes after the old deadline proves nothing: another instance may have taken over.
    if (validUntil !== 0 && !isValid()) return lose();
    if (!result.ok) return lose();
    const lasts = (store.exclusive ? FOR_EVER_MS : options.leaseMs) - MARGIN_MS;
    validUntil = sentAt + lasts;
    validUntilWall = sentAtWall + lasts;
    clearTimeout(watchdog);
    if (!store.exclusive) {
      watchdog = setTimeout(lose, Math.max(0, validUntil - performance.now()));
      watchdog.unref();
    }
  };

  const loop = (afterMs = options.renewMs): void => {
    if (isStopped || store.exclusive) return;
    beat = setTimeout(() => {
      // A failed renewal is retried soon: a database that restarts is unreachable for seconds, and the next regular
      // renewal could be too late for all runs. The watchdog decides when it is.
      renew().then(
        () => loop(),
        () => loop(options.renewMs / 8),
      );
    }, afterMs);
    beat.unref();
  };

  return {
    get instance() {
      return instance;
    },
    isValid,
    start: async () => {
      await renew();
      loop();
    },
    stop: async () => {
      isStopped = true;
      clearTimeout(beat);
      clearTimeout(watchdog);
      validUntil = 0;
      await store.leave(instance);
    },
  };
};
