import type { Expect } from '../test-runner.ts';
import type { Corner } from './contract-corner.ts';

/** What a section of the contract is written with: every test gets a corner of the store for itself. */
export interface Suite {
  readonly it: (promise: string, test: (corner: Corner) => Promise<void>) => void;
  readonly expect: Expect;
}
