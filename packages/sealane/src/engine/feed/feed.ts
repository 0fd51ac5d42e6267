import { BriefMap, type Event, isSettled, type Seq } from '#domain';
import type { Scope, StoredTask, TaskId, TaskStore } from '#store';

import { FIRST_PAGE, nextPageSize } from './log-pages.ts';
import { type FeedEvent, RecentEvents } from './recent-events.ts';

/**
 * Tells readers about committed events. A task has an entry here only while it has readers or waiting calls. The entry
 * keeps the last few events, so that readers that keep up share them and their encodings. A reader that has fallen
 * behind reads the log in the store, page by page, at its own pace. So no slow reader makes anything here grow.
 */
export interface Feed {
  /** Events of a task that this instance has committed. `task` is the snapshot after the last of them. */
  publish(id: TaskId, events: readonly Event[], task?: StoredTask): void;
  /** True while a call waits here for the task to settle. */
  isAwaited(id: TaskId): boolean;
  /** Another instance has committed something about these tasks. */
  wake(ids: readonly TaskId[]): void;
  /** The task was deleted: its readers and its waiting calls end. */
  forget(id: TaskId): void;
  /** The feed tells nothing more. Waiting calls end now, and each reader ends when it has read what is committed. */
  close(): void;
  /** Starts to keep the task's events. The reader misses nothing that is published between this call and `events`. */
  attach(scope: Scope, id: TaskId): Reader;
  /**
   * Resolves with the task when an event after `after` has ended the turn or asks the caller something. Resolves with
   * nothing when the time is up, the signal aborts or the task is deleted. `isCurrent`: the task cannot have settled
   * before this call, so the feed does not ask the store first.
   */
  settled(scope: Scope, id: TaskId, after: Seq, options: Waiting): Promise<StoredTask | undefined>;
}

export interface Waiting {
  readonly waitMs: number;
  readonly signal: AbortSignal;
  readonly isCurrent: boolean;
}

export interface Reader extends Disposable {
  /**
   * Events after `after`, in order, without end: the reader decides when it has seen enough. Ends when the task is
   * deleted. `isCurrent`: there was no later event when the reader attached, so it does not ask the store first.
   */
  events(after: Seq, signal: AbortSignal, isCurrent: boolean): AsyncGenerator<FeedEvent, void, undefined>;
}

interface Entry {
  readers: number;
  readonly recent: RecentEvents;
  /** Counts the hints that the store may have events that are not in `recent`. */
  hints: number;
  isGone: boolean;
  sleepers: (() => void)[];
  waiters: Waiter[];
}

interface Waiter {
  readonly after: Seq;
  readonly scope: Scope;
  settle(task: StoredTask | undefined): void;
}

export const createFeed = (store: TaskStore, pollMs: number): Feed => {
  const entries = new BriefMap<Entry>();
  let isClosed = false;

  const entryOf = (id: TaskId): Entry => {
    let entry = entries.get(id);
    if (!entry) {
      entry = {
        readers: 0,
        recent: new RecentEvents(),
        hints: 0,
        isGone: false,
        sleepers: [],
        waiters: [],
      };
      entries.set(id, entry);
    }
    return entry;
  };
  const leave = (id: TaskId, entry: Entry): void => {
    if (entry.readers === 0 && entry.waiters.length === 0 && entries.get(id) === entry) entries.delete(id);
  };
  const rouse = (entry: Entry): void => {
    const { sleepers } = entry;
    entry.sleepers = [];
    for (const wakeUp of sleepers) wakeUp();
  };

  const settleWaiters = async (id: TaskId, entry: Entry, seq: Seq, task: StoredTask | undefined): Promise<void> => {
    const due = entry.waiters.filter((waiter) => waiter.after < seq);
    if (due.length === 0) return;
    entry.waiters = entry.waiters.filter((waiter) => waiter.after >= seq);
    leave(id, entry);
    const found = task ?? (await store.find('all', id).catch(() => undefined));
    for (const waiter of due) waiter.settle(found);
  };

  /** Asks the store whether the task has settled: a fallback for lost hints, and for tasks that run elsewhere. */
  const checkWaiters = async (scope: Scope, id: TaskId, entry: Entry): Promise<void> => {
    if (entry.waiters.length === 0) return;
    const facts = await store.peek(scope, id).catch(() => null);
    if (facts === null) return;
    if (facts === undefined) await settleWaiters(id, entry, Number.MAX_SAFE_INTEGER, undefined);
    else if (isSettled(facts.state)) await settleWaiters(id, entry, facts.seq, undefined);
  };

  /** One timer for all waiting calls, while there are any. */
  let poll: NodeJS.Timeout | undefined;
  const startPolling = (): NodeJS.Timeout =>
    setInterval(() => {
      let isNeeded = false;
      for (const [id, entry] of entries.entries()) {
        const [waiter] = entry.waiters;
        if (!waiter) continue;
        isNeeded = true;
        void checkWaiters(waiter.scope, id, entry);
      }
      if (isNeeded) return;
      clearInterval(poll);
      poll = undefined;
    }, pollMs).unref();

  const attach = (scope: Scope, id: TaskId): Reader => {
    const entry = entryOf(id);
    // Counted from here: a hint that comes before the first call of `events` is news to this reader.
    const hintsBefore = entry.hints;
    entry.readers += 1;
    let isOver = false;
    const dispose = (): void => {
      if (isOver) return;
      isOver = true;
      entry.readers -= 1;
      leave(id, entry);
    };
    async function* events(
      after: Seq,
      signal: AbortSignal,
      isCurrent: boolean,
    ): AsyncGenerator<FeedEvent, void, undefined> {
      let cursor = after;
      let seenHints = isCurrent ? hintsBefore : -1;
      let pageSize = FIRST_PAGE;
      try {
        while (!signal.aborted) {
          const ready = entry.recent.after(cursor);
          if (ready) {
            cursor = ready.event.seq;
            yield ready;
            continue;
          }
          if (entry.isGone) {
            const rest = await store.read(scope, id, cursor, pageSize);
            // By now the name may belong to another task: then these may be its events.
            if (rest.length === 0 || (await store.peek(scope, id)) !== undefined) return;
            for (const event of rest) {
              cursor = event.seq;
              yield { event, frames: new Map() };
            }
            pageSize = nextPageSize(rest);
            continue;
          }
          if (seenHints !== entry.hints || (entry.recent.last?.seq ?? 0) > cursor) {
            seenHints = entry.hints;
            const page = await store.read(scope, id, cursor, pageSize);
            for (const event of page) {
              cursor = event.seq;
              yield { event, frames: new Map() };
            }
            if (page.length > 0) {
              // There may be more than one page: look again before sleeping.
              if (page.length === pageSize) seenHints = -1;
              pageSize = nextPageSize(page);
              continue;
            }
          }
          // An event or a hint that came during the read has woken no sleeper.
          if (entry.recent.after(cursor) || seenHints !== entry.hints || entry.isGone) continue;
          if (isClosed || signal.aborted) return;
          const isRoused = await sleep(entry, pollMs, signal);
          if (!isRoused && !signal.aborted) {
            if ((await store.peek(scope, id)) === undefined) return;
            seenHints = -1;
          }
        }
      } finally {
        dispose();
      }
    }
    return { events, [Symbol.dispose]: dispose };
  };

  const forget = (id: TaskId): void => {
    const entry = entries.get(id);
    if (!entry) return;
    entry.isGone = true;
    // Some callers choose the ids of their tasks. The next task with this id is another task, even while readers still
    // leave the old one.
    entries.delete(id);
    rouse(entry);
    void settleWaiters(id, entry, Number.MAX_SAFE_INTEGER, undefined);
  };

  return {
    publish: (id, events, task) => {
      const entry = entries.get(id);
      if (!entry) return;
      // The kept events are older than the first event of this task: they are of a deleted task that had the same id,
      // and this instance has not heard of the deletion.
      const [first] = events;
      const kept = entry.recent.last;
      if (first?.seq === 1 && kept && kept.at < first.at) return forget(id);
      if (entry.readers > 0) entry.recent.keep(events);
      rouse(entry);
      const settling = entry.waiters.length > 0 ? events.findLast(settles) : undefined;
      if (settling) void settleWaiters(id, entry, settling.seq, task);
    },
    wake: (ids) => {
      for (const id of ids) {
        const entry = entries.get(id);
        if (!entry) continue;
        entry.hints += 1;
        rouse(entry);
        void checkWaiters('all', id, entry);
      }
    },
    isAwaited: (id) => (entries.get(id)?.waiters.length ?? 0) > 0,
    forget,
    close: () => {
      isClosed = true;
      clearInterval(poll);
      for (const [id, entry] of entries.entries()) {
        rouse(entry);
        const { waiters } = entry;
        entry.waiters = [];
        leave(id, entry);
        for (const waiter of waiters) waiter.settle(undefined);
      }
    },
    attach,
    settled: (scope, id, after, { waitMs, signal, isCurrent }) => {
      const entry = entryOf(id);
      return new Promise((resolve) => {
        const settle = (task: StoredTask | undefined): void => {
          clearTimeout(timer);
          signal.removeEventListener('abort', giveUp);
          resolve(task);
        };
        const waiter: Waiter = { after, scope, settle };
        const giveUp = (): void => {
          entry.waiters = entry.waiters.filter((other) => other !== waiter);
          leave(id, entry);
          settle(undefined);
        };
        const timer = setTimeout(giveUp, waitMs);
        entry.waiters.push(waiter);
        if (!isClosed) poll ??= startPolling();
        if (signal.aborted || isClosed) giveUp();
        else signal.addEventListener('abort', giveUp, { once: true });
        if (!isCurrent) void checkWaiters(scope, id, entry);
      });
    },
  };
};

/** False: the time is up, or the signal aborted. */
const sleep = (entry: Entry, ms: number, signal: AbortSignal): Promise<boolean> =>
  new Promise((resolve) => {
    const wakeUp = (isRoused: boolean): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
      resolve(isRoused);
    };
    const onRouse = (): void => wakeUp(true);
    const giveUp = (): void => {
      entry.sleepers = entry.sleepers.filter((sleeper) => sleeper !== onRouse);
      wakeUp(false);
    };
    const timer = setTimeout(giveUp, ms);
    entry.sleepers.push(onRouse);
    signal.addEventListener('abort', giveUp, { once: true });
  });

const settles = ({ event }: Event): boolean => event.kind !== 'artifact-added' && isSettled(event.state);
