import { SealaneError } from '#domain';
import { type AgentEntry, type AgentExtension, type Caller, mayUse } from '#engine';

import type { CallHeaders } from '../call-headers.ts';

/** What became of the extensions that a caller asked for. */
export interface Negotiated {
  /** Asked for and known here; every answer names them. */
  readonly activated: readonly string[];
  /** Those among them that the agent declares: it is told of them. */
  readonly forAgent: readonly string[];
  /** Required and not asked for: the call is refused. */
  readonly missing: string | undefined;
}

/**
 * Unknown extensions are ignored, and no version of one stands for another. `named` is undefined when nobody is. Of an
 * agent that is not among those `allowed` to the caller nothing is told: a message to it is refused as forbidden.
 */
export type Negotiate = (named: AgentEntry | undefined, headers: CallHeaders, allowed: Caller['agents']) => Negotiated;

export const NOTHING_ASKED: Negotiated = { activated: [], forAgent: [], missing: undefined };

/** The longest header that is looked at; what lies beyond was written to hurt. */
const MAX_HEADER_LENGTH = 8192;

/** Negotiates what the service itself speaks (`own`) and what the agent of a call declares. */
export const createNegotiation = (own: readonly AgentExtension[]): Negotiate => {
  const isOwn = new Set(own.map(({ uri }) => uri));
  const requiresOwn = own.some(isRequired);

  return (named, headers, allowed) => {
    const agent = named && mayUse(allowed, named.name) ? named : undefined;
    // Clients that speak several versions send both, and not always the same.
    const { 'a2a-extensions': header, 'x-a2a-extensions': older } = headers;
    const requiresAny = requiresOwn || agent?.extensions.some(isRequired);
    if (header === undefined && older === undefined && !requiresAny) return NOTHING_ASKED;
    const text = [header ?? [], older ?? []].flat().join(',');
    const asked = new Set(text.length > MAX_HEADER_LENGTH ? [] : text.split(',').map((uri) => uri.trim()));
    const known = agent ? [...own, ...agent.extensions] : own;
    const activated = known.map(({ uri }) => uri).filter((uri) => asked.has(uri));
    return {
      activated,
      forAgent: activated.filter((uri) => !isOwn.has(uri)),
      missing: known.find((extension) => isRequired(extension) && !asked.has(extension.uri))?.uri,
    };
  };
};

const isRequired = ({ required = false }: AgentExtension): boolean => required;

/** Throws when an extension is required that the caller did not ask for. */
export const requireExtensions = ({ missing }: Negotiated): void => {
  if (missing === undefined) return;
  throw new SealaneError(
    'extension-required',
    `This agent requires the extension ${missing}: name it in the header A2A-Extensions.`,
    { facts: { extension: missing } },
  );
};
