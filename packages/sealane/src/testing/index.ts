/**
 * For authors of a store: the suites that every implementation of the store's ports must pass. They bring no test
 * runner and no fast-check: you pass yours in. Start with `store-contract.ts` (one test per promise), then
 * `store-model.ts` (random histories, compared with a plain model).
 */
export type { ContractStore, OpenContractStore, StoreContractOptions } from './store-contract.ts';
export { describeStoreContract } from './store-contract.ts';
export type { StoreModelOptions } from './store-model.ts';
export { describeStoreModel } from './store-model.ts';
export type { Expect, Matchers, TestRunner } from './test-runner.ts';
