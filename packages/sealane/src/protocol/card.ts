import type { AgentEntry } from '#engine';

/** What a card says beyond its agent. */
export interface CardFacts {
  /** The address of this agent's JSON-RPC endpoint. */
  readonly url: string;
  /** The service's version; agents have none of their own. */
  readonly version: string;
}

/** The A2A 1.0 card of an agent, as JSON text. It promises only what is there. */
export const encodeCard = (agent: AgentEntry, { url, version }: CardFacts): string =>
  JSON.stringify({
    name: agent.title,
    description: agent.description,
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    version,
    capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false },
    securitySchemes: {
      bearer: { httpAuthSecurityScheme: { scheme: 'Bearer', description: 'An API key of this service.' } },
    },
    securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    defaultInputModes: ['text/plain', 'application/json'],
    defaultOutputModes: ['text/plain', 'application/json'],
    skills: skillsOf(agent),
  });

/** A card needs at least one skill; an agent without any does what its description says. */
const skillsOf = ({ skills, name, title, description, connector }: AgentEntry): readonly object[] =>
  skills.length > 0 ? skills : [{ id: name, name: title, description, tags: [connector.kind] }];
