import { BaseSequencer, type TestSequencer, type TestSpecification, type Vitest } from 'vitest/node';

/**
 * Files that take long although they are small. Where no run has left its durations, vitest starts the largest files
 * first: these would be left for the end, and one worker would run the last of them while the others are idle.
 */
const LONG = [
  'test/store/contract.test.ts',
  'test/chaos-short.test.ts',
  'test/readme.test.ts',
  'test/restarts.test.ts',
  'test/fuzz/fuzz.test.ts',
  'packages/sealane/src/store/sqlite/redo-model.test.ts',
  'packages/sealane/src/store/sqlite/sqlite-store.test.ts',
  'packages/sealane/src/testing/lease-checker/lease-checker.test.ts',
];

export class LongestFirst implements TestSequencer {
  readonly #usual: TestSequencer;

  constructor(vitest: Vitest) {
    this.#usual = new BaseSequencer(vitest);
  }

  shard(files: TestSpecification[]): ReturnType<TestSequencer['shard']> {
    return this.#usual.shard(files);
  }

  async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification): boolean => LONG.some((file) => moduleId.endsWith(`/${file}`));
    const sorted = await this.#usual.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
