import type { CardFacts } from './card-facts.ts';
import { BEARER, extensionsOf, skillOf, v1CardOf } from './v1-card.ts';

/** A card of A2A 0.3, also for those who ask for 0.2: what 0.3 added does not disturb them. */
export const v03CardOf = (facts: CardFacts): Record<string, unknown> => ({
  name: facts.name,
  description: facts.description,
  ...addressesOf(facts, '0.3.0'),
  version: facts.version,
  capabilities: {
    streaming: facts.capabilities.streaming,
    pushNotifications: facts.capabilities.pushNotifications,
    ...(facts.extensions.length > 0 && { extensions: extensionsOf(facts) }),
  },
  ...(facts.security === 'bearer' && { securitySchemes: { bearer: SCHEME }, security: [{ bearer: [] }] }),
  defaultInputModes: facts.inputModes,
  defaultOutputModes: facts.outputModes,
  skills: facts.skills.map(skillOf),
  supportsAuthenticatedExtendedCard: facts.capabilities.extendedCard,
});

/**
 * Both at once, for callers that do not say which they want: 0.3 clients know no version header. No member means one
 * thing to one reader and another thing to the other; the security scheme carries the members of both. Readers of 1.0
 * may make it out of the older ones, and verify what came of it, so both say the same.
 */
export const hybridCardOf = (facts: CardFacts): Record<string, unknown> => {
  const v1 = v1CardOf(facts);
  return {
    ...v1,
    ...addressesOf(facts, '0.3.0'),
    ...(facts.security === 'bearer' && {
      securitySchemes: { bearer: { ...(v1['securitySchemes'] as { bearer: object }).bearer, ...SCHEME } },
      security: [{ bearer: [] }],
    }),
    supportsAuthenticatedExtendedCard: facts.capabilities.extendedCard,
  };
};

/** The card at `/.well-known/agent.json`: that of 0.2, with the members of 0.1 that it has lost. */
export const oldCardOf = (facts: CardFacts): Record<string, unknown> => {
  const v03 = v03CardOf(facts);
  return {
    ...v03,
    protocolVersion: '0.2.6',
    capabilities: { ...(v03['capabilities'] as object), stateTransitionHistory: false },
    ...(facts.security === 'bearer' && { authentication: { schemes: ['bearer'] } }),
  };
};

const SCHEME = { type: 'http', ...BEARER };

const addressesOf = ({ interfaces }: CardFacts, protocolVersion: string): object => ({
  url: interfaces[0].url,
  preferredTransport: interfaces[0].binding,
  additionalInterfaces: interfaces
    .filter(({ versions }) => versions.includes('0.3'))
    .map(({ binding, url }) => ({ url, transport: binding })),
  protocolVersion,
});
