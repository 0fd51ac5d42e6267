import { SealaneError } from '#domain';
import type { AgentExtension } from '#engine';

import type { Dialect, Method, ProtocolDeps } from '../dialect.ts';
import { encodeRpcError } from '../errors.ts';
import type { RestRoute } from '../rest-route.ts';

/** An extension of A2A that the service itself speaks, for every agent. */
export interface Extension {
  /** All cards show it. Callers ask for the extension by its URI, in the header A2A-Extensions. */
  readonly declaration: AgentExtension;
  /** The methods by name. They answer in every version of A2A, and without the header unless it is required. */
  readonly methods: (deps: ProtocolDeps) => ReadonlyMap<string, Method>;
  /** The addresses of the methods in A2A 1.0 over plain HTTP. */
  readonly routes?: readonly RestRoute[];
}

/**
 * The methods of all extensions, as one dialect that belongs to no version. Throws `bad-config` when a name would have
 * two meanings: nobody could tell which of the two methods a call is for.
 */
export const joinExtensions = (
  extensions: readonly Extension[],
  deps: ProtocolDeps,
  versions: readonly Dialect[],
): Dialect => {
  const holders = new Map(
    versions.flatMap((dialect) => [...dialect.methods.keys()].map((name) => [name, `A2A ${dialect.versions[0]}`])),
  );
  const uris = new Set<string>();
  const joined = new Map<string, Method>();
  for (const { declaration, methods, routes = [] } of extensions) {
    const { uri } = declaration;
    if (uris.has(uri)) throw refusal(uri, 'is registered twice. Remove one of the two.');
    uris.add(uri);
    const own = methods(deps);
    for (const [name, method] of own) {
      const holder = holders.get(name);
      if (holder !== undefined) {
        throw refusal(uri, `has a method "${name}", but ${holder} has one of that name. Rename it.`);
      }
      holders.set(name, `the extension ${uri}`);
      joined.set(name, method);
    }
    const stray = routes.find((route) => !own.has(route.method));
    if (stray !== undefined) {
      throw refusal(
        uri,
        `has no method "${stray.method}" for its address ${stray.verb} ${stray.path}. Add the method.`,
      );
    }
  }
  return { versions: [], methods: joined, encodeError: encodeRpcError };
};

const refusal = (uri: string, what: string): SealaneError =>
  new SealaneError('bad-config', `The extension ${uri} ${what}`);
