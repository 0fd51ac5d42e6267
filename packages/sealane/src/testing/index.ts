export type { ContractStore, OpenContractStore } from './store-contract.ts';
export { describeStoreContract } from './store-contract.ts';
export type { Expect, Matchers, TestRunner } from './test-runner.ts';
