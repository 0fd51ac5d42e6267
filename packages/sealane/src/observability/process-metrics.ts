import { collectDefaultMetrics, Registry } from 'prom-client';

let shared: Registry | undefined;

/**
 * What is told about the process: one set for all services in it. The library watches garbage collections and the event
 * loop and never stops, so a set of its own would keep every service that was closed in memory.
 */
export const processMetrics = (): Registry => {
  if (!shared) {
    shared = new Registry();
    collectDefaultMetrics({ register: shared, eventLoopMonitoringPrecision: 10 });
  }
  return shared;
};
