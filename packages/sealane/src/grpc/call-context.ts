import type { Metadata } from '@grpc/grpc-js';

import type { KeyHolder } from '#identity';
import { type CallContext, requireExtensions } from '#protocol';
import { findVersion, versionNotSupported } from '#protocol/version';

import type { GrpcDeps } from './grpc-deps.ts';

/** The key of a call; a comma in it has made several values of one. */
export const authorizationOf = (metadata: Metadata): string | undefined => {
  const values = metadata.get('authorization');
  return values.length === 0 ? undefined : values.join(',');
};

export interface CallFacts {
  readonly metadata: Metadata;
  /** The `host:port` that the caller connected to. */
  readonly authority: string;
  readonly holder: KeyHolder;
  /** The versions that the called service speaks. */
  readonly versions: readonly string[];
  readonly signal: AbortSignal;
}

/**
 * A call's context out of its metadata, which has the names of HTTP's headers. `sealane-agent` is the counterpart of
 * the address `/agents/<name>`: it chooses the agent, and only tasks of that agent are in reach.
 */
export const contextOf = (
  { metadata, authority, holder, versions, signal }: CallFacts,
  { protocol, registry, baseUrl }: Pick<GrpcDeps, 'protocol' | 'registry' | 'baseUrl'>,
): CallContext => {
  const headers = headersOf(metadata);
  const version = findVersion(firstOf(headers['a2a-version']));
  if (version !== undefined && !versions.includes(version)) throw versionNotSupported(version, versions);
  const agent = firstOf(headers['sealane-agent']) || undefined;
  const extensions = protocol.negotiate(
    agent === undefined ? registry.findDefault() : registry.require(agent, holder.agents),
    headers,
    holder.agents,
  );
  requireExtensions(extensions);
  return {
    caller: agent === undefined ? holder : { ...holder, agent },
    agent,
    headers,
    extensions,
    baseUrl: () => baseUrl(authority),
    signal,
  };
};

const firstOf = (value: string | readonly string[] | undefined): string | undefined =>
  typeof value === 'object' ? value[0] : value;

/** Everything but the key and what is not text. */
const headersOf = (metadata: Metadata): CallContext['headers'] =>
  Object.fromEntries(
    Object.keys(metadata.getMap())
      .filter((name) => name !== 'authorization' && !name.endsWith('-bin'))
      .map((name) => {
        const values = metadata.get(name).map(String);
        return [name, values.length === 1 ? values[0] : values];
      }),
  );
