/**
 * Executors of the official SDK as agents. The executor publishes events, and the engine keeps its task: an executor
 * needs no store of its own. Only a service with such agents loads this module, because it loads `@a2a-js/sdk`. All of
 * it is in `executor-agent.ts`.
 */
export { createExecutorAgent } from './executor-agent.ts';
