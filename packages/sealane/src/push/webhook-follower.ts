import type { FollowerHandler, FollowerPace, HandlerIo } from '#engine';
import type { Handled, Owed, OwedRange, PushConfigRecord, Storage } from '#store';

import { createDeliver, type EncodePush } from './delivery.ts';
import type { PushObserver } from './push-observer.ts';
import type { TargetGuard } from './target-guard.ts';
import { createWebhookClient } from './webhook-client.ts';

export interface PushSettings extends FollowerPace {
  /** How long a webhook may take to answer. */
  readonly timeoutMs: number;
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

/**
 * How many events are read at once. A crash repeats at most this many, and an unreachable webhook keeps no more in
 * memory.
 */
const BATCH = 8;

/** The result of the events that were sent. */
interface Told {
  readonly handled: Handled;
  /** Absent: the status has not changed. */
  readonly status?: PushConfigRecord['status'];
}

/**
 * Webhooks follow every event of their task. Each webhook gets its events in order. There is one attempt for each
 * event: whatever its outcome, the next event follows.
 */
export const createWebhookFollower = (options: {
  readonly storage: Pick<Storage, 'outbox' | 'pushConfigs'>;
  readonly encode: EncodePush;
  readonly guard: TargetGuard;
  readonly userAgent: string;
  readonly observers?: readonly PushObserver[];
  readonly settings?: Partial<PushSettings>;
}): FollowerHandler<'webhook'> => {
  const { observers = [] } = options;
  const { outbox, pushConfigs } = options.storage;
  const pace: PushSettings = { ...DEFAULT_PUSH_SETTINGS, ...options.settings };
  const client = createWebhookClient({ guard: options.guard, timeoutMs: pace.timeoutMs });
  const deliver = createDeliver({ ...options, observers, outbox, client });

  const tell = async (webhook: PushConfigRecord, range: OwedRange, { signal, patiently }: HandlerIo): Promise<Told> => {
    const { follower, firstSeq } = range;
    const owed = await patiently(() => outbox.read(follower, firstSeq, BATCH));
    // The task is gone, and so is its follower: there is nothing to send, and nothing to advance.
    if (!owed) return { handled: { follower, againAfterMs: pace.pollMs } };
    let upTo = owed.events.length === 0 ? owed.upTo : firstSeq - 1;
    let { status } = webhook;
    const beganAt = performance.now();
    for (const event of owed.events) {
      const news = {
        webhook,
        follower,
        life: range.subject.key,
        event,
        task: { id: owed.taskId, contextId: owed.contextId },
      };
      const outcome = await patiently(() => deliver(news, { isRepeated: status === 'failed', signal }));
      if (signal.aborted && outcome !== 'delivered') break;
      if (outcome !== undefined) status = outcome === 'delivered' ? 'active' : 'failed';
      upTo = event.seq;
      // Goes back to the store: that renews the claim, and a webhook that was removed or replaced gets nothing more.
      if (performance.now() - beganAt > pace.slowMs) break;
    }
    return { handled: { follower, upTo }, ...(status !== webhook.status && { status }) };
  };

  return {
    kind: 'webhook',
    pace,
    handle: async ({ claim, ranges }: Owed<'webhook'>, io) => {
      const webhook = await io.patiently(() => pushConfigs.at(claim.target));
      // The webhook was removed, and its follower with it.
      if (!webhook) return { handled: ranges.map(({ follower, lastSeq }) => ({ follower, upTo: lastSeq })) };
      const handled: Handled[] = [];
      let { status } = webhook;
      // A target names one task, so there is one range.
      for (const range of ranges) {
        const told = await tell({ ...webhook, status }, range, io);
        handled.push(told.handled);
        status = told.status ?? status;
      }
      return { handled, ...(status !== webhook.status && { effect: { status } }) };
    },
    onProblem: (what, error) => {
      for (const observer of observers) observer.problem?.(what, error);
    },
    close: () => client.close(),
  };
};
