import { describe, expect, it } from 'vitest';

import type { Event, Seq } from '#domain';

import { RecentEvents } from './recent-events.ts';

const said = (seq: Seq, text = 'x'): Event => ({
  seq,
  at: new Date(0).toISOString(),
  event: { kind: 'artifact-added', artifact: { artifactId: 'a', parts: [{ text }] }, append: true },
});
const range = (from: Seq, to: Seq): readonly Event[] =>
  Array.from({ length: to - from + 1 }, (_, index) => said(from + index));
const recentOf = (...batches: readonly (readonly Event[])[]): RecentEvents => {
  const recent = new RecentEvents();
  for (const batch of batches) recent.keep(batch);
  return recent;
};
const nextOf = (recent: RecentEvents, seq: Seq): Seq | undefined => recent.after(seq)?.event.seq;

describe('recent events', () => {
  it('are told one after the other, each once, however often they are heard of', () => {
    const recent = recentOf(range(1, 3), range(2, 4), range(4, 4));
    expect([0, 1, 2, 3, 4].map((seq) => nextOf(recent, seq))).toEqual([1, 2, 3, 4, undefined]);
  });

  it('begin anew after a hole, which only the store can fill', () => {
    const recent = recentOf(range(1, 3), range(5, 6));
    expect([2, 3, 4, 5].map((seq) => nextOf(recent, seq))).toEqual([undefined, undefined, 5, 6]);
  });

  it('are at most 512, and less than a megabyte unless the last alone is more', () => {
    const many = recentOf(range(1, 600));
    expect([87, 88].map((seq) => nextOf(many, seq))).toEqual([undefined, 89]);
    const long = 'x'.repeat(400_000);
    const large = recentOf([said(1, long), said(2, long), said(3, long)]);
    expect([0, 1].map((seq) => nextOf(large, seq))).toEqual([undefined, 2]);
    const huge = recentOf([said(1), said(2, long.repeat(4))]);
    expect([0, 1].map((seq) => nextOf(huge, seq))).toEqual([undefined, 2]);
  });
});
