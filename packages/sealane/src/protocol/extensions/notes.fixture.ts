import type { Method } from '../dialect.ts';
import { requireFields } from '../field-reader.ts';
import type { Extension } from './extension.ts';

/** Tells what it was called with. */
const read: Method = async (params, { caller, agent, extensions }) =>
  JSON.stringify({
    ...requireFields(params, 'params'),
    agent,
    tenant: caller.tenant || undefined,
    activated: extensions.activated,
  });

/** A small extension: one method, one address. */
export const NOTES: Extension = {
  declaration: { uri: 'urn:example:notes', description: 'Notes.', params: { longest: 80 } },
  methods: () => new Map([['notes/read', read]]),
  routes: [{ verb: 'GET', path: '/notes/{id}', method: 'notes/read', query: { page: 'integer' } }],
};
