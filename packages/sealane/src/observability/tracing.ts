import type * as Api from '@opentelemetry/api';

import type { EngineObserver } from '#engine';

export interface Tracing {
  readonly observer: EngineObserver;
  shutdown(): Promise<void>;
}

/** Any of these means that somebody wants spans; nothing is loaded otherwise. */
const SWITCHES = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_TRACES_EXPORTER'];

/**
 * Spans for runs, exported as the standard `OTEL_*` variables say. They follow the GenAI conventions (`invoke_agent`)
 * and never carry what anybody said. Without those variables the caller's `traceparent` is passed on untouched.
 */
export const startTracing = async (env: NodeJS.ProcessEnv, version: string): Promise<Tracing> => {
  const isWanted = env['OTEL_SDK_DISABLED'] !== 'true' && SWITCHES.some((name) => env[name] && env[name] !== 'none');
  if (!isWanted) return { observer: {}, shutdown: async () => undefined };
  const { NodeSDK } = await import('@opentelemetry/sdk-node');
  env['OTEL_SERVICE_NAME'] ??= 'sealane';
  // Spans are what we make; other signals only when they are asked for by name.
  env['OTEL_METRICS_EXPORTER'] ??= 'none';
  env['OTEL_LOGS_EXPORTER'] ??= 'none';
  const sdk = new NodeSDK({ instrumentations: [], autoDetectResources: false });
  sdk.start();
  return { observer: spanObserver(await import('@opentelemetry/api'), version), shutdown: () => sdk.shutdown() };
};

const spanObserver = (api: typeof Api, version: string): EngineObserver => {
  const { context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } = api;
  const contextOf = (traceparent: string | undefined): Api.Context =>
    traceparent === undefined ? ROOT_CONTEXT : propagation.extract(context.active(), { traceparent });
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
