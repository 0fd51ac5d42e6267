import type { FastifyRequest } from 'fastify';

import { type Fields, invalid, parseJson, type QueryType, requireFields, type RestRoute } from '#protocol';

/** `{id}` in a path. */
export const PLACEHOLDER = /\{(\w+)\}/g;

/** The params of the method that a request calls: its body or its query, and what its address says. */
export const paramsOf = (route: RestRoute, request: FastifyRequest, named: Fields): Fields => {
  const given = route.body === undefined ? queryOf(route, request.query as Query) : bodyOf(route, request.body);
  const params: Record<string, unknown> = { ...given };
  for (const [, name = ''] of route.path.matchAll(PLACEHOLDER)) {
    const protoName = protoNameOf(name);
    for (const key of new Set([name, protoName])) {
      const value = given[key] ?? '';
      if (value !== '' && value !== named[name]) {
        throw invalid(name, 'is another one than the address says: leave it out.');
      }
    }
    delete params[protoName];
    params[name] = named[name];
  }
  return params;
};

/** POSTs that need no body come with none, with `null`, as Go and Python write nothing, or with an empty object. */
const bodyOf = ({ body }: RestRoute, text: unknown): Fields => {
  const json = typeof text === 'string' ? text : '';
  if (body === 'optional' && (json.trim() === '' || json.trim() === 'null')) return {};
  return requireFields(parseJson(json), 'body');
};

type Query = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Parameters by their JSON name or their proto name. What the method does not know is ignored. */
const queryOf = ({ query = {} }: RestRoute, given: Query): Fields => {
  const found: Record<string, unknown> = {};
  for (const [name, type] of Object.entries<QueryType>({ ...query, tenant: 'text' })) {
    const protoName = protoNameOf(name);
    const value = given[name] ?? given[protoName];
    if (value === undefined) continue;
    if (
      typeof value !== 'string' ||
      (protoName !== name && given[name] !== undefined && given[protoName] !== undefined)
    )
      throw invalid(name, 'is given twice: give it once.');
    found[name] = READERS[type](value, name);
  }
  return found;
};

const READERS: Readonly<Record<QueryType, (text: string, name: string) => unknown>> = {
  text: (text) => text,
  integer: (text, name) => {
    if (!/^-?\d{1,15}$/.test(text)) throw invalid(name, 'must be a whole number.');
    return Number(text);
  },
  flag: (text, name) => {
    if (text !== 'true' && text !== 'false') throw invalid(name, 'must be true or false.');
    return text === 'true';
  },
};

const protoNameOf = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
