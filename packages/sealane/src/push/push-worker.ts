import { setTimeout as delay } from 'node:timers/promises';

import { insist } from '#engine';
import type { Owed, Storage } from '#store';

import { createDeliver, type EncodePush } from './delivery.ts';
import type { PushObserver } from './push-observer.ts';
import type { TargetGuard } from './target-guard.ts';
import { createWebhookClient } from './webhook-client.ts';

export type { EncodePush, PushBody, PushNews } from './delivery.ts';

export interface PushSettings {
  /** The slow look behind hints that may be lost, and for what a dead instance had claimed. */
  readonly pollMs: number;
  /** How long a webhook may take to answer. */
  readonly timeoutMs: number;
  /** Webhooks that are told at the same time; those that keep us waiting do not count, up to `mostAtOnce`. */
  readonly atOnce: number;
  readonly mostAtOnce: number;
  /** After this time a webhook keeps us waiting. */
  readonly slowMs: number;
  /** How long a claim holds without a sign of life; longer than two answers may take. */
  readonly leaseMs: number;
  /** How long what is under way may go on when the service stops. */
  readonly graceMs: number;
}

export const DEFAULT_PUSH_SETTINGS: PushSettings = {
  pollMs: 5000,
  timeoutMs: 15_000,
  atOnce: 32,
  mostAtOnce: 256,
  slowMs: 1000,
  leaseMs: 60_000,
  graceMs: 2000,
};

export interface PushWorker {
  start(): void;
  /** Gives what is under way a moment; what is not told by then is owed, and told after the next start. */
  stop(): Promise<void>;
}

/** Events read at once. A crash repeats at most so many, and a webhook that is away keeps no more in memory. */
const BATCH = 8;
/** Hints that only made a claimed range longer find nothing; they may not make us look without a break. */
const PAUSE_MS = 20;

/**
 * Tells webhooks what the outbox owes them: each in the order of its events and one at a time, all of them side by
 * side. One attempt for each event; whatever came of it, the next one follows.
 */
export const createPushWorker = (options: {
  readonly storage: Pick<Storage, 'outbox' | 'tasks'>;
  readonly encode: EncodePush;
  readonly guard: TargetGuard;
  readonly userAgent: string;
  readonly observers?: readonly PushObserver[];
  readonly settings?: Partial<PushSettings>;
}): PushWorker => {
  const { observers = [] } = options;
  const { outbox, tasks } = options.storage;
  const settings: PushSettings = { ...DEFAULT_PUSH_SETTINGS, ...options.settings };
  const { leaseMs } = settings;
  const client = createWebhookClient({ guard: options.guard, timeoutMs: settings.timeoutMs });
  const deliver = createDeliver({ ...options, observers, tasks, client });
  const cutting = new AbortController();
  const underWay = new Set<Promise<void>>();
  let slow = 0;
  let isLooking = false;
  let isHinted = false;
  /** The last claim was not told everything, for want of room here. */
  let isMore = false;

  const onProblem = (what: string, error: unknown): void => {
    for (const observer of observers) observer.problem?.(what, error);
  };

  /**
   * A claim that was given up would hold until its lease is over, and its webhook would hear nothing for that long. Who
   * insists knows what was told, so nothing is told twice.
   */
  const patiently = <T>(attempt: () => Promise<T>): Promise<T> =>
    insist(attempt, {
      signal: cutting.signal,
      withinMs: leaseMs / 2,
      // Said once: there may be many of us, and the store may be away for long.
      onProblem: (error, tried) => tried === 1 && onProblem('The outbox cannot be worked on now, trying again', error),
    });

  /** Runs an attempt; while it keeps us waiting, its place is somebody else's. */
  const inTime = async <T>(attempt: Promise<T>): Promise<T> => {
    let isSlow = false;
    const timer = setTimeout(() => {
      isSlow = true;
      slow += 1;
      if (isMore) look();
    }, settings.slowMs);
    try {
      return await attempt;
    } finally {
      clearTimeout(timer);
      if (isSlow) slow -= 1;
    }
  };

  /** Tells a few of the events that are owed; answers what is owed then, nothing when the claim is over. */
  const tell = async (owed: Owed, failing: { is: boolean }): Promise<Owed | undefined> => {
    const { claim, firstSeq, lastSeq } = owed;
    const count = Math.min(BATCH, lastSeq - firstSeq + 1);
    const events = await patiently(() => tasks.read('all', claim.taskId, firstSeq - 1, count));
    let told = firstSeq - 1;
    const beganAt = performance.now();
    for (const event of events) {
      const attempt = (): ReturnType<typeof deliver> =>
        deliver(owed, event, { isRepeated: failing.is, signal: cutting.signal });
      const outcome = await inTime(patiently(attempt));
      if (cutting.signal.aborted && outcome !== 'delivered') break;
      if (outcome !== undefined) failing.is = outcome !== 'delivered';
      told = event.seq;
      // The claim gives a sign of life; and a webhook that was removed or replaced meanwhile is told nothing more.
      if (performance.now() - beganAt > settings.slowMs) break;
    }
    const isCut = cutting.signal.aborted;
    const left = told < firstSeq ? undefined : await patiently(() => outbox.done(claim, told, leaseMs));
    if (left && !isCut) return left;
    // Given back, unless there is nothing more to tell; then it is void.
    await patiently(() => outbox.failed(claim, isCut ? 0 : settings.pollMs));
    return undefined;
  };

  const tellAll = async (claimed: Owed): Promise<void> => {
    const failing = { is: false };
    try {
      for (let owed: Owed | undefined = claimed; owed;) owed = await tell(owed, failing);
    } catch (error) {
      // The claim lapses, and what it had not told is claimed again.
      onProblem('The outbox could not be worked on', error);
    }
  };

  const room = (): number => Math.min(settings.atOnce - (underWay.size - slow), settings.mostAtOnce - underWay.size);

  const begin = (owed: Owed): void => {
    const telling = tellAll(owed).finally(() => {
      underWay.delete(telling);
      if (isMore) look();
    });
    underWay.add(telling);
  };

  const claimWhatFits = async (): Promise<void> => {
    while (isHinted && !cutting.signal.aborted) {
      isHinted = false;
      const limit = room();
      isMore = limit < 1;
      if (isMore) return;
      const claimed = await outbox.claim({ limit, leaseMs });
      isMore = claimed.length === limit;
      for (const owed of claimed) begin(owed);
      if (claimed.length === 0 && isHinted) await delay(PAUSE_MS, undefined, { ref: false });
    }
  };

  let looking: Promise<void> = Promise.resolve();
  const look = (): void => {
    isHinted = true;
    if (isLooking) return;
    isLooking = true;
    looking = claimWhatFits()
      .catch((error: unknown) => onProblem('The outbox could not be looked at', error))
      .finally(() => {
        isLooking = false;
        // A hint on the very last step was heard by nobody.
        if (isHinted && !cutting.signal.aborted) look();
      });
  };

  const idle = async (): Promise<void> => {
    await looking;
    while (underWay.size > 0) {
      await Promise.all(underWay);
      await looking;
    }
  };

  let poll: NodeJS.Timeout | undefined;
  let hearing: Disposable | undefined;
  return {
    start: () => {
      hearing = outbox.onOwed(look);
      poll = setInterval(look, settings.pollMs);
      poll.unref();
      look();
    },
    stop: async () => {
      clearInterval(poll);
      hearing?.[Symbol.dispose]();
      look();
      const grace = new AbortController();
      const isDone = idle();
      await Promise.race([isDone, delay(settings.graceMs, undefined, { signal: grace.signal }).catch(() => undefined)]);
      grace.abort();
      cutting.abort();
      await idle();
      client.close();
    },
  };
};
