/**
 * Observability: what operators see of the engine from outside: metrics, spans, log lines. It only listens, and what
 * it tells never contains what a caller or an agent said. Each file is one signal; `observers.ts` joins them.
 */
export type { Metrics } from './metrics.ts';
export { createMetrics } from './metrics.ts';
export { combineObservers, createLogObserver, createPushLogObserver } from './observers.ts';
export type { Tracing } from './tracing.ts';
export { startTracing } from './tracing.ts';
