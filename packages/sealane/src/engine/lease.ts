import type { InstanceId, TaskStore } from '#store';

/**
 * This instance's right to run things. In a store that one process owns it is taken once and ends with the process.
 * In a shared store it is a row that must be renewed: the lease is counted from before the renewal was sent, and a
 * second before its end, if none succeeded, everything that runs here is aborted. So whoever takes over finds nothing
 * alive. An expired lease is never revived: the instance goes on under a new id.
 */
export interface Lease {
  readonly instance: InstanceId;
  /** False when runs must not start: not yet taken, about to end, or over. */
  isValid(): boolean;
  start(): Promise<void>;
  /** Gives it up: what is still held can be taken over at once. */
  stop(): Promise<void>;
}

export interface LeaseOptions {
  readonly store: TaskStore;
  readonly newId: () => InstanceId;
  readonly leaseMs: number;
  readonly renewMs: number;
  /** Everything that this instance runs must die now. */
  readonly onLost: (instance: InstanceId) => void;
  readonly onRenewed?: () => void;
}

/** Runs abort this long before the lease ends. */
const MARGIN_MS = 1000;
const FOR_EVER_MS = 100 * 365 * 24 * 3600 * 1000;

export const createLease = (options: LeaseOptions): Lease => {
  const { store } = options;
  let instance = options.newId();
  let validUntil = 0;
  // Sleep of the machine stops the monotonic clock and not the lease: the wall clock sees that.
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
    // An answer that comes after the old deadline proves nothing: meanwhile somebody may have taken over.
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
    options.onRenewed?.();
  };

  const loop = (afterMs = options.renewMs): void => {
    if (isStopped || store.exclusive) return;
    beat = setTimeout(() => {
      // A renewal that fails is tried again soon: a database that is started again is away for seconds, and one beat
      // later could be too late for everything that runs. The watchdog decides when it is.
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
