import { setTimeout as delay } from 'node:timers/promises';

import type * as Api from '@opentelemetry/api';

import type { EngineObserver } from '#engine';

export interface Tracing {
  readonly observer: EngineObserver;
  /** Sends the last spans. A collector that is away or slow is not waited for: rejects after a moment. */
  flush(): Promise<void>;
}

/** Any of these means that somebody wants spans; nothing is loaded otherwise. */
const SWITCHES = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_TRACES_EXPORTER'];

/** How long the last spans may take. */
const FLUSH_MS = 2000;

/**
 * Spans for runs, exported as the standard `OTEL_*` variables say. They follow the GenAI conventions (`invoke_agent`)
 * and never carry what anybody said. Without those variables the caller's `traceparent` is passed on untouched.
 */
export const startTracing = async (env: NodeJS.ProcessEnv, version: string): Promise<Tracing> => {
  const isWanted = env['OTEL_SDK_DISABLED'] !== 'true' && SWITCHES.some((name) => env[name] && env[name] !== 'none');
  if (!isWanted) return { observer: {}, flush: async () => undefined };
  const api = await import('@opentelemetry/api');
  exporting ??= startExport(api);
  const flush = await exporting;
  return { observer: spanObserver(api, version), flush };
};

/**
 * OpenTelemetry is set up once in a process, and for good: whoever holds a tracer keeps it, so that the end of one
 * service must not be the end of another's spans.
 */
let exporting: Promise<Tracing['flush']> | undefined;

/** What the library lets one ask of the provider that is registered. */
interface Registered {
  getDelegate?(): { forceFlush?(): Promise<void> };
  getDelegateTracer?(name: string): unknown;
}

const startExport = async ({ trace }: typeof Api): Promise<Tracing['flush']> => {
  const registered = trace.getTracerProvider() as Registered;
  // The program around us has set it up itself: it gets our spans, and sends them when it likes.
  if (registered.getDelegateTracer?.('sealane') !== undefined) return async () => undefined;
  const { NodeSDK } = await import('@opentelemetry/sdk-node');
  withDefaults(process.env, () => new NodeSDK({ instrumentations: [] }).start());
  return async () => {
    const provider = (trace.getTracerProvider() as Registered).getDelegate?.();
    const waiting = new AbortController();
    const tooLate = async (): Promise<never> => {
      await delay(FLUSH_MS, undefined, { signal: waiting.signal });
      throw new Error(`The collector did not take the spans within ${FLUSH_MS / 1000} s.`);
    };
    try {
      await Promise.race([provider?.forceFlush?.(), tooLate()]);
    } finally {
      waiting.abort();
    }
  };
};

/** Where nothing else is said. The library reads them from the environment alone, which is not ours to change for good. */
const withDefaults = (env: NodeJS.ProcessEnv, start: () => void): void => {
  const defaults: Record<string, string> = {
    ...(!/(?:^|,)\s*service\.name\s*=/.test(env['OTEL_RESOURCE_ATTRIBUTES'] ?? '') && { OTEL_SERVICE_NAME: 'sealane' }),
    // Not the process: the words of its command line may be secrets.
    OTEL_NODE_RESOURCE_DETECTORS: 'env,serviceinstance',
    // Spans are what we make; other signals only when they are asked for by name.
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_LOGS_EXPORTER: 'none',
    // A request that nobody answers keeps a process that wants to end from ending.
    OTEL_EXPORTER_OTLP_TIMEOUT: '5000',
  };
  const missing = Object.keys(defaults).filter((name) => !env[name]);
  for (const name of missing) env[name] = defaults[name];
  try {
    start();
  } finally {
    for (const name of missing) delete env[name];
  }
};

const spanObserver = (api: typeof Api, version: string): EngineObserver => {
  const { propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } = api;
  const contextOf = (traceparent: string | undefined): Api.Context =>
    traceparent === undefined ? ROOT_CONTEXT : propagation.extract(ROOT_CONTEXT, { traceparent });
  const tracer = trace.getTracer('sealane', version);
  return {
    runStarted: (run, connector) => {
      const parent = contextOf(run.call.traceparent);
      const span = tracer.startSpan(
        `invoke_agent ${run.agent}`,
        {
          kind: SpanKind.CLIENT,
          attributes: {
            'gen_ai.operation.name': 'invoke_agent',
            'gen_ai.provider.name': connector,
            'gen_ai.agent.name': run.agent,
            'gen_ai.conversation.id': run.contextId,
            'sealane.task.id': run.token.taskId,
            'sealane.run.attempt': run.attempt,
            'sealane.turn': run.turn,
          },
        },
        parent,
      );
      const carrier: { traceparent?: string } = {};
      propagation.inject(trace.setSpan(parent, span), carrier);
      return {
        ...(carrier.traceparent !== undefined && { traceparent: carrier.traceparent }),
        ended: (state, reason) => {
          span.setAttribute('sealane.task.state', state);
          if (state === 'failed' || state === 'lost') {
            span.setAttribute('error.type', reason ?? state);
            span.setStatus({ code: SpanStatusCode.ERROR });
          }
          span.end();
        },
      };
    },
  };
};
