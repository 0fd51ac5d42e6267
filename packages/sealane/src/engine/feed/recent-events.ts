import type { Event, Seq } from '#domain';

import { sizeOf } from './log-pages.ts';
import type { FrameCache } from '../service/task-service.ts';

/** A committed event with its encodings, shared by everybody who reads it from memory. */
export interface FeedEvent {
  readonly event: Event;
  readonly frames: FrameCache;
}

const KEPT_EVENTS = 512;
const KEPT_BYTES = 1024 * 1024;

/** The last few events of a task, without a hole, for readers who keep up. */
export class RecentEvents {
  #events: FeedEvent[] = [];
  #bytes = 0;

  get last(): Event | undefined {
    return this.#events.at(-1)?.event;
  }

  /** The event after `seq`; nothing where it is too old, or has not been told here. */
  after(seq: Seq): FeedEvent | undefined {
    const oldest = this.#events[0]?.event.seq;
    return oldest === undefined || oldest > seq + 1 ? undefined : this.#events[seq + 1 - oldest];
  }

  keep(events: readonly Event[]): void {
    for (const event of events) {
      const last = this.last?.seq;
      if (last !== undefined && event.seq <= last) continue;
      // A hole means that somebody else's commit is not known here yet: readers fetch it from the store.
      if (last !== undefined && event.seq > last + 1) {
        this.#events = [];
        this.#bytes = 0;
      }
      this.#events.push({ event, frames: new Map() });
      this.#bytes += sizeOf(event);
    }
    while (this.#events.length > KEPT_EVENTS || (this.#bytes > KEPT_BYTES && this.#events.length > 1)) {
      const dropped = this.#events.shift();
      if (dropped) this.#bytes -= sizeOf(dropped.event);
    }
  }
}
