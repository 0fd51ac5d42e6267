/** A bound that a number should keep. */
export type Bound = { readonly atLeast: number } | { readonly atMost: number };

export interface Goal {
  readonly what: string;
  /** `undefined`: not measured, and `note` says why. */
  readonly value: number | undefined;
  readonly unit: string;
  readonly bound: Bound;
  readonly note?: string;
}

/** What one measurement found: a table for people, goals, and the raw numbers of every round. */
export interface Section {
  readonly name: string;
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly goals: readonly Goal[];
  readonly notes: readonly string[];
  readonly data: unknown;
  /** Wrong, missing or refused answers. There must be none: a fast wrong answer is not an answer. */
  readonly errors: readonly string[];
}

export type Verdict = 'reached' | 'missed' | 'not measured';

export const verdictOf = ({ value, bound }: Goal): Verdict => {
  if (value === undefined || Number.isNaN(value)) return 'not measured';
  const kept = 'atLeast' in bound ? value >= bound.atLeast : value <= bound.atMost;
  return kept ? 'reached' : 'missed';
};

/** Three digits are all that a benchmark on a shared machine can say. */
export const show = (value: number | undefined): string => {
  if (value === undefined || Number.isNaN(value)) return '–';
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-US');
  return Number(value.toPrecision(3)).toString();
};
