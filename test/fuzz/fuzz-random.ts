import * as fc from 'fast-check';

/** Chance for one request. The same seed gives the same draws on every machine. */
export interface FuzzRandom {
  /** Whole numbers, both ends included. */
  between(low: number, high: number): number;
  chance(probability: number): boolean;
  pick<T>(choices: readonly T[]): T;
  /** By weight. */
  weigh<T>(choices: readonly (readonly [weight: number, choice: T])[]): T;
}

const FINE = 1_000_000;

const randomOf = (source: fc.Random): FuzzRandom => {
  const between = (low: number, high: number): number => source.nextInt(low, high);
  return {
    between,
    chance: (probability) => between(0, FINE - 1) < probability * FINE,
    pick: (choices) => choices[between(0, choices.length - 1)]!,
    weigh: (choices) => {
      let left = between(
        1,
        choices.reduce((sum, [weight]) => sum + weight, 0),
      );
      return choices.find(([weight]) => (left -= weight) <= 0)![1];
    },
  };
};

/** Makes values by a plain function, with fast-check's generator below it. Volume is the point, so nothing is shrunk. */
class Drawn<T> extends fc.Arbitrary<T> {
  readonly make: (random: FuzzRandom) => T;

  constructor(make: (random: FuzzRandom) => T) {
    super();
    this.make = make;
  }

  override generate(source: fc.Random): fc.Value<T> {
    return new fc.Value(this.make(randomOf(source)), undefined);
  }

  override canShrinkWithoutContext(_value: unknown): _value is T {
    return false;
  }

  override shrink(): fc.Stream<fc.Value<T>> {
    return fc.Stream.nil();
  }
}

/** The value number `number` of a seed, made alone: any of them can be made again without those before it. */
export const drawAlone = <T>(make: (random: FuzzRandom) => T, seed: number, number: number): T =>
  fc.sample(new Drawn(make), { seed: mix(seed, number), numRuns: 1 })[0]!;

/** Neighbouring seeds must not give similar draws. */
const mix = (seed: number, number: number): number => {
  let mixed = Math.imul(seed ^ Math.imul(number + 1, 0x9e3779b1), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) | 0;
};
