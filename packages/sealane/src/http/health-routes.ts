import type { FastifyRequest } from 'fastify';

import { SealaneError } from '#domain';

import type { HttpDeps } from './http-deps.ts';
import type { JsonSender } from './json-reply.ts';
import type { Handler } from './method-routes.ts';
import { hostnameOf, isLoopback } from './origin-guard.ts';

/** Alive: the process answers. */
export const createHealthHandler =
  (send: JsonSender): Handler =>
  async (request, reply) => {
    send(request, reply, 200, '{"status":"ok"}');
  };

/** Ready: it can also do its work. */
export const createReadyHandler =
  (send: JsonSender, { ready, log }: Pick<HttpDeps, 'ready' | 'log'>): Handler =>
  async (request, reply) => {
    const verdict = await ready().catch((err: unknown) => {
      log.error({ err, reqId: request.id }, 'the readiness check failed');
      return 'the check itself failed: see the log';
    });
    send(request, reply, verdict === 'ok' ? 200 : 503, JSON.stringify({ status: verdict }));
  };

export const createMetricsHandler =
  (send: JsonSender, { metrics, keys }: Pick<HttpDeps, 'metrics' | 'keys'>): Handler =>
  async (request, reply) => {
    if (!isLocal(request)) {
      const holder = await keys.authenticate(request.raw.headers.authorization);
      if (holder === undefined) throw new SealaneError('unauthenticated', 'Metrics from afar need an admin key.');
      if (!holder.admin) throw new SealaneError('forbidden', 'Metrics need an admin key.');
    }
    const { contentType, text } = await metrics.render();
    send(request, reply, 200, text, { 'content-type': contentType });
  };

/** A caller on this machine itself, and not a proxy on it that speaks for somebody else. */
const isLocal = ({ raw }: FastifyRequest): boolean =>
  isLoopback(raw.socket.remoteAddress ?? '') &&
  isLoopback(hostnameOf(raw.headers.host ?? '')) &&
  raw.headers['x-forwarded-for'] === undefined &&
  raw.headers['x-forwarded-host'] === undefined &&
  raw.headers.forwarded === undefined;
