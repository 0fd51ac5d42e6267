import { type Fields, isObject } from '../field-reader.ts';

/** AgentCard of `a2a.v1` from a 0.3 card. */
export const protoCardOf = (card: unknown): Fields => {
  const { capabilities, securitySchemes, security, skills, ...rest } = card as Fields;
  const { streaming, pushNotifications, extensions } = (capabilities ?? {}) as Fields;
  return {
    ...rest,
    capabilities: { streaming, pushNotifications, ...(Array.isArray(extensions) && { extensions }) },
    ...(isObject(securitySchemes) && {
      securitySchemes: Object.fromEntries(
        Object.entries(securitySchemes).map(([name, scheme]) => [name, schemeOf(scheme as Fields)]),
      ),
    }),
    ...(Array.isArray(security) && { security: security.map(requirementOf) }),
    ...(Array.isArray(skills) && { skills: skills.map(skillOf) }),
  };
};

/**
 * The card that REST answers. Its readers disagree: the JavaScript client takes it for ProtoJSON, the Python one for
 * the card of JSON-RPC. The two differ in the security alone, so each scheme is told in both ways; of the requirements,
 * which only the Python client acts on, there is the plain form.
 */
export const restCardOf = (card: unknown): Fields => {
  const { securitySchemes, security } = card as Fields;
  const proto = protoCardOf(card);
  if (!isObject(securitySchemes)) return proto;
  const told = proto['securitySchemes'] as Record<string, object>;
  return {
    ...proto,
    securitySchemes: Object.fromEntries(
      Object.entries(securitySchemes).map(([name, scheme]) => [name, { ...(scheme as object), ...told[name] }]),
    ),
    security,
  };
};

const SCHEMES: Readonly<Record<string, string>> = {
  apiKey: 'apiKeySecurityScheme',
  http: 'httpAuthSecurityScheme',
  oauth2: 'oauth2SecurityScheme',
  openIdConnect: 'openIdConnectSecurityScheme',
  mutualTLS: 'mtlsSecurityScheme',
};

const schemeOf = ({ type, in: location, ...rest }: Fields): Fields => ({
  [SCHEMES[String(type)] ?? String(type)]: { ...rest, ...(location !== undefined && { location }) },
});

const requirementOf = (requirement: unknown): Fields => ({
  schemes: Object.fromEntries(Object.entries(requirement as Fields).map(([name, list]) => [name, { list }])),
});

const skillOf = (skill: unknown): Fields => {
  const { security, ...rest } = skill as Fields;
  return { ...rest, ...(Array.isArray(security) && { security: security.map(requirementOf) }) };
};
