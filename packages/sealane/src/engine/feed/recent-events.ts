import type { Event, Seq } from '#domain';

import { sizeOf } from './log-pages.ts';
import type { FrameCache } from '../service/task-service.ts';

/** A committed event with its encodings. All readers that read it from memory share them. */
export interface FeedEvent {
  readonly event: Event;
  readonly frames: FrameCache;
}

const KEPT_EVENTS = 512;
const KEPT_BYTES = 1024 * 1024;

/** The last few events of a task, without a gap, for readers that keep up. */
export class RecentEvents {
  #events: FeedEvent[] = [];
  #bytes = 0;

  get last(): Event | undefined {
    return this.#events.at(-1)?.event;
  }

  /** The event after `seq`. Undefined: it is not kept any more, or this instance has not heard of it yet. */
  after(seq: Seq): FeedEvent | undefined {
    const oldest = this.#events[0]?.event.seq;
    return oldest === undefined || oldest > seq + 1 ? undefined : this.#events[seq + 1 - oldest];
  }

  keep(events: readonly Event[]): void {
    for (const event of events) {
      const last = this.last?.seq;
      if (last !== undefined && event.seq <= last) continue;
      // A gap means that this instance has not heard of another commit yet: readers read the missing events from the
      // store.
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
