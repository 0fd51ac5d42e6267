import { SealaneError } from '#domain';
import { type AgentEntry, type AgentExtension, type Caller, mayUse } from '#engine';

import type { CallHeaders } from './call-headers.ts';

/** What became of the extensions that a caller asked for. */
export interface Negotiated {
  /** Asked for and known here; every answer names them. */
  readonly activated: readonly string[];
  /** Required by the agent and not asked for: the call is refused. */
  readonly missing: string | undefined;
}

/** Ours, on every agent: a task's log as numbered events, and its deletion. See docs/extensions/task-log.md. */
export const TASK_LOG_EXTENSION: AgentExtension = {
  uri: 'https://sealane.dev/extensions/task-log/v1',
  description: 'Numbered events that can be read again (tasks/events, Last-Event-ID), and tasks/delete.',
};

export const NOTHING_ASKED: Negotiated = { activated: [], missing: undefined };

/** The longest header that is looked at; what lies beyond was written to hurt. */
const MAX_HEADER_LENGTH = 8192;

/** All that an agent's card declares. */
export const extensionsOf = (agent: AgentEntry): readonly AgentExtension[] => [TASK_LOG_EXTENSION, ...agent.extensions];

/**
 * Unknown extensions are ignored, and no version of one stands for another. `named` is undefined when nobody is. Of an
 * agent that is not among those `allowed` to the caller nothing is told: a message to it is refused as forbidden.
 */
export const negotiateExtensions = (
  named: AgentEntry | undefined,
  headers: CallHeaders,
  allowed: Caller['agents'],
): Negotiated => {
  const agent = named && mayUse(allowed, named.name) ? named : undefined;
  // Clients that speak several versions send both, and not always the same.
  const { 'a2a-extensions': header, 'x-a2a-extensions': older } = headers;
  const required = agent?.extensions.find((extension) => extension.required);
  if (header === undefined && older === undefined && required === undefined) return NOTHING_ASKED;
  const text = [header ?? [], older ?? []].flat().join(',');
  const asked = new Set(text.length > MAX_HEADER_LENGTH ? [] : text.split(',').map((uri) => uri.trim()));
  const known = agent ? extensionsOf(agent) : [TASK_LOG_EXTENSION];
  return {
    activated: known.filter(({ uri }) => asked.has(uri)).map(({ uri }) => uri),
    missing: agent?.extensions.find(({ uri, required: isRequired }) => isRequired && !asked.has(uri))?.uri,
  };
};

/** Throws when the agent requires an extension that the caller did not ask for. */
export const requireExtensions = ({ missing }: Negotiated): void => {
  if (missing === undefined) return;
  throw new SealaneError(
    'extension-required',
    `This agent requires the extension ${missing}: name it in the header A2A-Extensions.`,
    { facts: { extension: missing } },
  );
};
