import type { Corner } from './contract-corner.ts';
import type { Suite } from './suite.ts';

/** The owners in the order in which one free slot after the other is given to them; every run ends at once. */
const servedOwners = async (c: Corner, instance: string, count: number): Promise<readonly string[]> => {
  const owners: string[] = [];
  for (let n = 0; n < count; n += 1) {
    const run = await c.claimOne(instance);
    owners.push(run.owner);
    await c.complete(run);
  }
  return owners;
};

export const describeFairness = ({ it, expect }: Suite): void => {
  it('owners take turns: an owner with 2 lanes is served among the first of an owner with 50', async (c) => {
    const me = await c.instance();
    const [many, few] = [c.name('many'), c.name('few')];
    for (let n = 0; n < 50; n += 1) await c.admit({ owner: many, session: c.name(`many-${n}`) });
    for (let n = 0; n < 2; n += 1) await c.admit({ owner: few, session: c.name(`few-${n}`) });
    const owners = await servedOwners(c, me, 6);
    expect(owners.filter((owner) => owner === few)).toHaveLength(2);
  });

  it('the same in one claim of several slots', async (c) => {
    const me = await c.instance();
    const [many, few] = [c.name('many'), c.name('few')];
    for (let n = 0; n < 50; n += 1) await c.admit({ owner: many, session: c.name(`many-${n}`) });
    for (let n = 0; n < 2; n += 1) await c.admit({ owner: few, session: c.name(`few-${n}`) });
    const claimed = await c.claim(me, { free: 6 });
    expect(claimed.filter(({ run }) => run.owner === few)).toHaveLength(2);
  });

  it('an owner that comes when the other is half served does not wait for the rest', async (c) => {
    const me = await c.instance();
    const [many, few] = [c.name('many'), c.name('few')];
    for (let n = 0; n < 40; n += 1) await c.admit({ owner: many, session: c.name(`many-${n}`) });
    await servedOwners(c, me, 20);
    await c.admit({ owner: few, session: c.name('few') });
    expect((await servedOwners(c, me, 3)).includes(few)).toBe(true);
  });

  it('an owner that was alone for long is not made to wait for that', async (c) => {
    const me = await c.instance();
    const [old, fresh] = [c.name('old'), c.name('fresh')];
    for (let n = 0; n < 40; n += 1) await c.admit({ owner: old, session: c.name('old') });
    await servedOwners(c, me, 30);
    const running = await c.claimOne(me);
    for (let n = 0; n < 20; n += 1) await c.admit({ owner: fresh, session: c.name(`fresh-${n}`) });
    await c.complete(running);
    expect((await servedOwners(c, me, 6)).filter((owner) => owner === old)).not.toHaveLength(0);
  });

  it('owners at their limit do not keep another waiting, however many they are', async (c) => {
    const me = await c.instance();
    for (let n = 0; n < 40; n += 1) {
      const owner = c.name(`owner-${n}`);
      await c.start(me, { owner });
      await c.admit({ owner, session: c.name(`lane-${n}`) });
    }
    const idle = c.name('idle');
    await c.admit({ owner: idle, session: c.name('idle') });
    const claimed = await c.claim(me, { free: 1, ownerRunning: 1 });
    expect(claimed.map(({ run }) => run.owner)).toEqual([idle]);
  });
};
