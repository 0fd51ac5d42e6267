/** The middle value; of an even number of values the mean of the two in the middle. */
export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
};

/** The smallest value that at least the fraction `p` of the values does not exceed. */
export const percentile = (sorted: Float64Array, p: number): number =>
  sorted[Math.max(0, Math.ceil(sorted.length * p) - 1)] ?? Number.NaN;

/** A list of numbers that grows without boxing them: a load run records hundreds of thousands of latencies. */
export interface Samples {
  add(value: number): void;
  sorted(): Float64Array;
}

export const createSamples = (): Samples => {
  let values = new Float64Array(16_384);
  let count = 0;
  return {
    add: (value) => {
      if (count === values.length) {
        const larger = new Float64Array(values.length * 2);
        larger.set(values);
        values = larger;
      }
      values[count++] = value;
    },
    sorted: () => values.slice(0, count).sort(),
  };
};
