/**
 * Observability: what operators see of the engine from outside: metrics, spans, log lines. This module only listens.
 * Nothing that it tells contains what a caller or an agent said. Each file is one signal; start with `observers.ts`,
 * which joins them.
 */
export type { Metrics } from './metrics.ts';
export { createMetrics } from './metrics.ts';
export { combineObservers, createLogObserver, createPushLogObserver } from './observers.ts';
export type { Tracing } from './tracing.ts';
export { startTracing } from './tracing.ts';
