/**
 * The part of a test runner that the suites need. They take it as an argument, so that this package depends on no
 * runner: `vitest` and `jest` fit as they are.
 */
export interface TestRunner {
  describe(name: string, define: () => void): void;
  it(name: string, test: () => Promise<void>, timeoutMs?: number): void;
  beforeAll(prepare: () => Promise<void>): void;
  afterAll(tidy: () => Promise<void>): void;
  readonly expect: Expect;
}

export type Expect = (actual: unknown) => Matchers & { readonly not: Matchers };

export interface Matchers {
  toBe(expected: unknown): void;
  toEqual(expected: unknown): void;
  toMatchObject(expected: object): void;
  toContain(item: unknown): void;
  toHaveLength(length: number): void;
  toBeLessThan(bound: number): void;
}
