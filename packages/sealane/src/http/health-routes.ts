import type { FastifyRequest } from 'fastify';

import { SealaneError } from '#domain';

import type { HttpDeps, Readiness } from './http-deps.ts';
import type { JsonSender } from './json-reply.ts';
import type { Handler } from './method-routes.ts';
import { hostnameOf, isLoopback } from './origin-guard.ts';

/** Alive: the process answers, and a restart would not help. */
export const createHealthHandler =
  (send: JsonSender, { hasFailed }: Pick<HttpDeps, 'hasFailed'>): Handler =>
  async (request, reply) => {
    if (hasFailed?.()) send(request, reply, 503, '{"status":"failed: start the service again"}');
    else send(request, reply, 200, '{"status":"ok"}');
  };

/**
 * Ready: it can also do its work. Anybody may ask, so the detail goes into the log, once until it changes; and who asks
 * while the store is being looked at hears the same: strangers in a crowd must not keep the store busy.
 */
export const createReadyHandler = (send: JsonSender, { ready, log }: Pick<HttpDeps, 'ready' | 'log'>): Handler => {
  let logged: string | undefined;
  let looking: Promise<Readiness> | undefined;
  const look = (): Promise<Readiness> =>
    (looking ??= ready()
      .catch((err: unknown): Readiness => {
        log.error({ err }, 'the readiness check failed');
        return { status: 'the check itself failed: see the log' };
      })
      .finally(() => {
        looking = undefined;
      }));
  return async (request, reply) => {
    const { status, detail } = await look();
    if (detail !== undefined && detail !== logged) log.warn({ detail }, 'not ready');
    logged = detail;
    send(request, reply, status === 'ok' ? 200 : 503, JSON.stringify({ status }));
  };
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

/**
 * A caller on this machine itself, and not a proxy on it that speaks for somebody else. One that is set up with nothing
 * but our address calls us by it and adds no headers; it is known by HTTP/1.0, which no scraper speaks any more.
 */
const isLocal = ({ raw }: FastifyRequest): boolean =>
  isLoopback(raw.socket.remoteAddress ?? '') &&
  isLoopback(hostnameOf(raw.headers.host ?? '')) &&
  raw.httpVersion !== '1.0' &&
  !Object.keys(raw.headers).some((name) => PROXY_HEADER.test(name));

const PROXY_HEADER = /^(forwarded|via|x-forwarded-.+|x-real-ip|.+-(connecting|client)-ip)$/;
