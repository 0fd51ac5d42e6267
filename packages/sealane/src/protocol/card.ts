import type { AgentEntry } from '#engine';

import { extensionsOf } from './extensions.ts';

/** What is offered here; a deployment can leave parts of A2A out. */
export interface Capabilities {
  readonly streaming: boolean;
  readonly pushNotifications: boolean;
  readonly extendedCard: boolean;
}

export const ALL_CAPABILITIES: Capabilities = { streaming: true, pushNotifications: true, extendedCard: true };

/** What a card says beyond its agent. */
export interface CardFacts {
  /** The address of this agent's JSON-RPC endpoint. */
  readonly url: string;
  /** The service's version; agents have none of their own. */
  readonly version: string;
  readonly capabilities: Capabilities;
}

/** The A2A 1.0 card of an agent, as JSON text. It promises only what is there. */
export const encodeCard = (agent: AgentEntry, { url, version, capabilities }: CardFacts): string =>
  JSON.stringify({
    name: agent.title,
    description: agent.description,
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    version,
    capabilities: {
      streaming: capabilities.streaming,
      pushNotifications: capabilities.pushNotifications,
      extensions: extensionsOf(agent),
      extendedAgentCard: capabilities.extendedCard,
    },
    securitySchemes: {
      bearer: { httpAuthSecurityScheme: { scheme: 'Bearer', description: 'An API key of this service.' } },
    },
    securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    defaultInputModes: agent.inputModes,
    defaultOutputModes: agent.outputModes,
    skills: skillsOf(agent),
  });

/** A card needs at least one skill; an agent without any does what its description says. */
const skillsOf = ({ skills, name, title, description, connector }: AgentEntry): readonly object[] =>
  skills.length > 0 ? skills : [{ id: name, name: title, description, tags: [connector.kind] }];
