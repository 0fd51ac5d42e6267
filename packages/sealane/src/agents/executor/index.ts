/** Executors of the official SDK as agents. Loads `@a2a-js/sdk`, so only those who use one pay for it. */
export { createExecutorAgent } from './executor-agent.ts';
