import type { AgentEntry, AgentExtension, AgentSkill } from '#engine';

import type { Capabilities } from '../capabilities.ts';

/** The versions that a card can promise, in the order of preference. */
export const CARD_VERSIONS = ['1.0', '0.3'] as const;
export type CardVersion = (typeof CARD_VERSIONS)[number];

/** One way to reach an agent. */
export interface CardInterface {
  readonly binding: 'JSONRPC' | 'HTTP+JSON' | 'GRPC';
  readonly url: string;
  readonly versions: readonly CardVersion[];
}

/** A skill whose media types may differ from those of the card. */
export interface CardSkill extends AgentSkill {
  readonly inputModes?: readonly string[];
  readonly outputModes?: readonly string[];
}

/** Everything a card says, in no version's words. */
export interface CardFacts {
  readonly name: string;
  readonly description: string;
  /** The service's version; agents have none of their own. */
  readonly version: string;
  /** The best first; never empty, and the first is JSON-RPC. */
  readonly interfaces: readonly [CardInterface, ...CardInterface[]];
  readonly capabilities: Capabilities;
  readonly extensions: readonly AgentExtension[];
  /** How callers prove who they are. */
  readonly security: 'bearer' | 'none';
  readonly inputModes: readonly string[];
  readonly outputModes: readonly string[];
  readonly skills: readonly CardSkill[];
}

/** What every card of a service has in common, under one address. */
export type ServiceFacts = Pick<CardFacts, 'version' | 'capabilities' | 'extensions' | 'security'> & {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  /** `host:port`, while a gRPC port is open. */
  readonly grpcAddress: string | undefined;
  readonly grpcVersions: readonly CardVersion[];
};

/**
 * The default agent is reached at the root, too; `undefined` stands for that address. Its path is `/a2a`, once: a
 * service that is mounted there as a whole is called at the address of the mount.
 */
export const urlOf = (baseUrl: string, agent: string | undefined): string => {
  if (agent !== undefined) return `${baseUrl}/agents/${encodeURIComponent(agent)}`;
  return baseUrl.endsWith('/a2a') ? baseUrl : `${baseUrl}/a2a`;
};

export const interfacesOf = (
  { baseUrl, grpcAddress, grpcVersions }: ServiceFacts,
  agent: string | undefined,
): CardFacts['interfaces'] => {
  const url = urlOf(baseUrl, agent);
  // A gRPC address has no path to tell agents apart: whoever follows it without further metadata meets the default one.
  const isReachedByGrpc = agent === undefined && grpcAddress !== undefined;
  return [
    { binding: 'JSONRPC', url, versions: CARD_VERSIONS },
    { binding: 'HTTP+JSON', url, versions: CARD_VERSIONS },
    ...(isReachedByGrpc ? [{ binding: 'GRPC', url: grpcAddress, versions: grpcVersions } as const] : []),
  ];
};

export const factsOf = (agent: AgentEntry, service: ServiceFacts, interfaces: CardFacts['interfaces']): CardFacts => ({
  name: agent.title,
  description: agent.description,
  version: service.version,
  interfaces,
  capabilities: service.capabilities,
  extensions: [...service.extensions, ...agent.extensions],
  security: service.security,
  inputModes: agent.inputModes,
  outputModes: agent.outputModes,
  skills: skillsOf(agent),
});

/** A card needs at least one skill, and a skill a description and a tag: what is not said follows from the agent. */
const skillsOf = ({ skills, name, title, description, connector }: AgentEntry): readonly CardSkill[] =>
  skills.length === 0
    ? [{ id: name, name: title, description, tags: [connector.kind] }]
    : skills.map((skill) => ({
        ...skill,
        description: skill.description || description,
        tags: skill.tags.length > 0 ? skill.tags : [connector.kind],
      }));
