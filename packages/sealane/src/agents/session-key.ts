import type { SessionKey, SessionScope } from './agent-connector.ts';

/**
 * The session key of connectors whose agent has no naming rules of its own: every part of the scope, each escaped so
 * that no two scopes meet in one key.
 */
export const sessionKeyOf = ({ agent, tenant, owner, contextId }: SessionScope): SessionKey =>
  `${encodeURIComponent(agent)}/${encodeURIComponent(tenant)}/${encodeURIComponent(owner)}/${encodeURIComponent(contextId)}`;
