import type { FastifyRequest } from 'fastify';

import type { HttpOptions } from './http-deps.ts';

/** The address under which this caller reaches the service; the Host header has been checked by then. */
export const baseUrlOf = (request: FastifyRequest, { publicUrl, prefix, host }: HttpOptions): string =>
  publicUrl?.replace(/\/+$/, '') ?? `http://${request.raw.headers.host ?? host}${prefix}`;
