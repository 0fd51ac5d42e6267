import type { Admission, FollowerEffects, InstanceId, NewFollower, Owed, Storage, TaskId } from '#store';

import type { Corner } from './contract-corner.ts';
import { accepted, refusal } from './contract-events.ts';

/** Longer than any test. */
export const LEASE_MS = 3_600_000;

type OwedProbe = Owed<'probe'>;

export const probe = (c: Corner, target: string, events: NewFollower['events'] = 'every'): NewFollower => ({
  kind: 'probe',
  target: c.name(target),
  events,
});

/** What is owed to probes of this corner; other tests may have left some of theirs, which are claimed as well. */
export const claimProbes = async (
  c: Corner,
  instance: InstanceId,
  {
    storage = c.storage,
    limit = 1000,
    leaseMs = LEASE_MS,
  }: { storage?: Storage; limit?: number; leaseMs?: number } = {},
): Promise<readonly OwedProbe[]> => {
  const claimed = await storage.outbox.claim({ kind: 'probe', instance, limit, leaseMs });
  return claimed.filter(({ claim }) => claim.target.startsWith(c.name('')));
};

export const only = (owed: readonly OwedProbe[]): OwedProbe => {
  if (!owed[0] || owed.length > 1) throw new Error(`Expected one claim, got ${owed.length}.`);
  return owed[0];
};

/** Everything of a claim, as handled. */
export const all = ({ ranges }: OwedProbe) => ranges.map(({ follower, lastSeq }) => ({ follower, upTo: lastSeq }));

/** The ranges of a claim, as `first-last`. */
export const rangesOf = (owed: OwedProbe | undefined): readonly string[] =>
  (owed?.ranges ?? []).map(({ firstSeq, lastSeq }) => `${firstSeq}-${lastSeq}`);

/** What is owed to each probe of the corner, as `target first-last`, handled and gone afterwards. */
export const told = async (c: Corner, instance: InstanceId): Promise<readonly string[]> => {
  const claimed = await claimProbes(c, instance);
  for (const owed of claimed) accepted(await c.storage.outbox.advance(owed.claim, all(owed), LEASE_MS));
  const nameOf = ({ claim }: OwedProbe): string => claim.target.slice(c.name('').length);
  return claimed.flatMap((owed) => rangesOf(owed).map((range) => `${nameOf(owed)} ${range}`)).toSorted();
};

/** A claim of a target that is owed something, made for the test. */
export const claimOf = async (
  c: Corner,
  instance: InstanceId,
  target: string,
  over: Partial<Admission> = {},
): Promise<OwedProbe> => {
  await c.admit({ session: c.name(`for ${target}`), followers: [probe(c, target)], ...over });
  const claimed = await claimProbes(c, instance);
  return only(claimed.filter(({ claim }) => claim.target === c.name(target)));
};

/** Gives a probe an amount that conditions can take from. Answers the amount. */
export const give = async (c: Corner, instance: InstanceId, target: string, add: number): Promise<number> => {
  const owed = await claimOf(c, instance, target);
  const { answer } = accepted(await c.storage.outbox.advance(owed.claim, all(owed), LEASE_MS, { add }));
  return answer?.amount ?? 0;
};

/** Says that a claim was handled, with an effect; why it was refused. */
export const advance = async (c: Corner, owed: OwedProbe, effect?: FollowerEffects['probe']): Promise<string> =>
  refusal(await c.storage.outbox.advance(owed.claim, all(owed), LEASE_MS, effect));

export const isThere = async (c: Corner, id: TaskId): Promise<boolean> => (await c.tasks.peek('all', id)) !== undefined;
