import { randomInt } from 'node:crypto';

const DEFAULT_RUNS = 20_000;

/** The same requests each time, so that a test that fails today and not yesterday fails for what was changed. */
const DEFAULT_SEED = '491907423';

/** `SEALANE_FUZZ_SEED` makes other requests, `random` ones that nobody has made; `SEALANE_FUZZ_RUNS` says how many. */
const seed = process.env['SEALANE_FUZZ_SEED'] ?? DEFAULT_SEED;
export const fuzzSeed = seed === 'random' ? randomInt(2 ** 31) : Number(seed);
export const fuzzRuns = Number(process.env['SEALANE_FUZZ_RUNS'] ?? DEFAULT_RUNS);

/** `SEALANE_FUZZ_ONLY` sends one of them alone, by its number. */
export const fuzzOnly =
  process.env['SEALANE_FUZZ_ONLY'] === undefined ? undefined : Number(process.env['SEALANE_FUZZ_ONLY']);
