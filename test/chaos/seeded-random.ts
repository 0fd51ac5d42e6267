import { randomInt } from 'node:crypto';

/** Chance that can be played again: the same seed and name give the same numbers. */
export interface SeededRandom {
  /** From 0 up to, but not including, 1. */
  next(): number;
  /** Whole numbers, both ends included. */
  between(low: number, high: number): number;
  chance(probability: number): boolean;
  pick<T>(choices: readonly T[]): T;
  /** A stream of its own, so that what one part draws does not shift what another gets. */
  fork(name: string): SeededRandom;
}

/** `CHAOS_SEED` plays a run again. The moments at which processes meet are the machine's, so it is near, not exact. */
export const chaosSeed = Number(process.env['CHAOS_SEED'] ?? randomInt(2 ** 31));

export const seededRandom = (name: string, seed = chaosSeed): SeededRandom => {
  let state = hashOf(`${seed} ${name}`);
  // mulberry32: small, even, and the same on every machine.
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1));
  return {
    next,
    between,
    chance: (probability) => next() < probability,
    pick: (choices) => {
      const chosen = choices[between(0, choices.length - 1)];
      if (chosen === undefined) throw new Error('There is nothing to pick from.');
      return chosen;
    },
    fork: (child) => seededRandom(`${name}/${child}`, seed),
  };
};

/** FNV-1a. */
const hashOf = (text: string): number => {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash | 0;
};
