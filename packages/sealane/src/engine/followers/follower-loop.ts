import { setTimeout as delay } from 'node:timers/promises';

import type { FollowerKind, Handled, InstanceId, OutboxStore, Owed } from '#store';

import { insist } from '../insist.ts';
import type { FollowerHandler, HandlerIo } from './follower-handler.ts';

export interface FollowerLoop {
  start(): void;
  /** Gives handlers in flight a grace period. What is not handled by then stays owed, for the next start. */
  stop(): Promise<void>;
}

/**
 * A hint may mean a range that is already claimed, and then a claim finds nothing. The pause keeps such hints from
 * making the loop claim without a break.
 */
const PAUSE_MS = 20;

/**
 * The consumer of the outbox, the same for every kind of follower:
 *
 *     hint or poll ─► claim targets that are due ─► handler ─► advance in the store ─► more under the claim? handler …
 *                                                                                   └► nothing left: the claim is over
 *
 * One claim at a time handles a target, in the order of its events. Different targets are handled in parallel.
 */
export const createFollowerLoop = <K extends FollowerKind>(
  outbox: OutboxStore,
  handler: FollowerHandler<K>,
  instance: () => InstanceId,
): FollowerLoop => {
  const { kind, pace } = handler;
  const { leaseMs, slowMs } = pace;
  const cutting = new AbortController();
  const inFlight = new Set<Promise<void>>();
  let slow = 0;
  let isLooking = false;
  let isHinted = false;
  /** More may be due: the last claim stopped because there was no room here. */
  let isMore = false;

  const io: HandlerIo = {
    signal: cutting.signal,
    // If the loop gave up, the claim would hold until its lease is over, and its target would hear nothing for that
    // long.
    patiently: (attempt) =>
      insist(attempt, {
        signal: cutting.signal,
        withinMs: leaseMs / 2,
        // Reported once: there may be many claims, and the store may be unreachable for long.
        onProblem: (error, tried) =>
          tried === 1 && handler.onProblem('The outbox cannot be processed now, trying again', error),
      }),
  };

  /** Handles a few events. While a handler takes long, its place is free for another target. */
  const handle = async (owed: Owed<K>): ReturnType<FollowerHandler<K>['handle']> => {
    let isSlow = false;
    const timer = setTimeout(() => {
      isSlow = true;
      slow += 1;
      if (isMore) look();
    }, slowMs);
    try {
      return await handler.handle(owed, io);
    } finally {
      clearTimeout(timer);
      if (isSlow) slow -= 1;
    }
  };

  /** Answers what is owed afterwards. Undefined: the claim is over or lost. */
  const work = async (owed: Owed<K>): Promise<Owed<K> | undefined> => {
    const { handled, effect } = await handle(owed);
    const isCut = cutting.signal.aborted;
    const told = isCut ? givenBack(owed, handled) : handled;
    const advanced = await io.patiently(() => outbox.advance(owed.claim, told, leaseMs, effect));
    return advanced.ok && !isCut ? advanced.value.owed : undefined;
  };

  const workAll = async (claimed: Owed<K>): Promise<void> => {
    try {
      for (let owed: Owed<K> | undefined = claimed; owed;) owed = await work(owed);
    } catch (error) {
      // The claim lapses. What was not handled is claimed again.
      handler.onProblem('The outbox could not be processed', error);
    }
  };

  const room = (): number => Math.min(pace.atOnce - (inFlight.size - slow), pace.mostAtOnce - inFlight.size);

  const begin = (owed: Owed<K>): void => {
    const working = workAll(owed).finally(() => {
      inFlight.delete(working);
      if (isMore) look();
    });
    inFlight.add(working);
  };

  const claimWhatFits = async (): Promise<void> => {
    while (isHinted && !cutting.signal.aborted) {
      isHinted = false;
      const limit = room();
      isMore = limit < 1;
      if (isMore) return;
      const claimed = await outbox.claim({ kind, instance: instance(), limit, leaseMs });
      isMore = claimed.length === limit;
      // Several rows may belong to one target, so a claim may have skipped targets although it had room.
      if (claimed.length > 0) isHinted = true;
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
      .catch((error: unknown) => handler.onProblem('Nothing could be claimed from the outbox', error))
      .finally(() => {
        isLooking = false;
        // No claim has served a hint that came in the last step.
        if (isHinted && !isMore && !cutting.signal.aborted) look();
      });
  };

  const idle = async (): Promise<void> => {
    await looking;
    while (inFlight.size > 0) {
      await Promise.all(inFlight);
      await looking;
    }
  };

  let poll: NodeJS.Timeout | undefined;
  let hearing: Disposable | undefined;
  return {
    start: () => {
      hearing = outbox.onOwed(look);
      poll = setInterval(look, pace.pollMs);
      poll.unref();
      look();
    },
    stop: async () => {
      clearInterval(poll);
      hearing?.[Symbol.dispose]();
      look();
      const grace = new AbortController();
      const isDone = idle();
      await Promise.race([isDone, delay(pace.graceMs, undefined, { signal: grace.signal }).catch(() => undefined)]);
      grace.abort();
      cutting.abort();
      await idle();
      handler.close?.();
    },
  };
};

/** Makes everything that was not handled at the stop due at once, for the next instance. */
const givenBack = ({ ranges }: Owed, handled: readonly Handled[]): readonly Handled[] =>
  ranges.map(({ follower, lastSeq }) => {
    const { upTo, ...rest } = handled.find((range) => range.follower === follower) ?? { follower };
    if (upTo !== undefined && upTo >= lastSeq) return { follower, upTo };
    return { againAfterMs: 0, ...rest, ...(upTo !== undefined && { upTo }) };
  });
