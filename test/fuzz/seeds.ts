import { randomInt } from 'node:crypto';

const DEFAULT_RUNS = 20_000;

/** `SEALANE_FUZZ_SEED` makes the same requests again; `SEALANE_FUZZ_RUNS` says how many. */
export const fuzzSeed = Number(process.env['SEALANE_FUZZ_SEED'] ?? randomInt(2 ** 31));
export const fuzzRuns = Number(process.env['SEALANE_FUZZ_RUNS'] ?? DEFAULT_RUNS);

/** `SEALANE_FUZZ_ONLY` sends one of them alone, by its number. */
export const fuzzOnly =
  process.env['SEALANE_FUZZ_ONLY'] === undefined ? undefined : Number(process.env['SEALANE_FUZZ_ONLY']);
