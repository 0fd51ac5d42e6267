import { CARD_VERSIONS, type CardFacts, type CardSkill } from './card-facts.ts';

/**
 * A card of A2A 1.0, unsigned. It has members of the schema only, and none that is empty: what is signed is exactly
 * what a reader sees that parses it into the schema. The flags among the capabilities have presence, so a false one stays.
 */
export const v1CardOf = (facts: CardFacts): Record<string, unknown> => ({
  name: facts.name,
  description: facts.description,
  supportedInterfaces: CARD_VERSIONS.flatMap((protocolVersion) =>
    facts.interfaces
      .filter(({ versions }) => versions.includes(protocolVersion))
      .map(({ binding, url }) => ({ url, protocolBinding: binding, protocolVersion })),
  ),
  version: facts.version,
  capabilities: {
    streaming: facts.capabilities.streaming,
    pushNotifications: facts.capabilities.pushNotifications,
    ...(facts.extensions.length > 0 && { extensions: extensionsOf(facts) }),
    extendedAgentCard: facts.capabilities.extendedCard,
  },
  ...(facts.security === 'bearer' && {
    securitySchemes: { bearer: { httpAuthSecurityScheme: BEARER } },
    securityRequirements: [{ schemes: { bearer: {} } }],
  }),
  defaultInputModes: facts.inputModes,
  defaultOutputModes: facts.outputModes,
  skills: facts.skills.map(skillOf),
});

export const BEARER = { scheme: 'Bearer', description: 'An API key of this service.' };

export const extensionsOf = ({ extensions }: CardFacts): readonly object[] =>
  extensions.map(({ uri, description, required, params }) => ({
    uri,
    ...(description && { description }),
    ...(required && { required }),
    ...(params && { params }),
  }));

/** The same in every version. */
export const skillOf = ({ id, name, description, tags, examples, inputModes, outputModes }: CardSkill): object => ({
  id,
  name,
  description,
  tags,
  ...(examples && examples.length > 0 && { examples }),
  ...(inputModes && inputModes.length > 0 && { inputModes }),
  ...(outputModes && outputModes.length > 0 && { outputModes }),
});
