import type { FastifyRequest } from 'fastify';

import { type Fields, isObject, parseJson, requireFields } from '#protocol';

/** The query as members; of a name that is given twice the last counts. */
export const queryOf = (request: FastifyRequest): Fields => {
  const query = request.query as Record<string, string | readonly string[]>;
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => [name, typeof value === 'string' ? value : value.at(-1)]),
  );
};

/** The body as members. */
export const bodyOf = (request: FastifyRequest): Fields => {
  const body = parseJson(typeof request.body === 'string' ? request.body : '');
  return isObject(body) ? body : requireFields(body, 'the body');
};

export const paramOf = (request: FastifyRequest, name: string): string =>
  (request.params as Readonly<Record<string, string>>)[name] ?? '';

export const isoOf = (instant: number | null): string | null =>
  instant === null ? null : new Date(instant).toISOString();
