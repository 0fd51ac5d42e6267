import { createHash } from 'node:crypto';

import type { SessionKey, SessionScope } from '../../agent-connector.ts';

/** OpenClaw documents 64 characters for a session id; what is left beside `a2a-` and the hash is for people. */
const READABLE = 40;
const HASH = 16;

/**
 * The session id of a conversation: `a2a-`, as much of the context id as is left in small letters, digits, `_` and `-`,
 * and a hash of everything that tells conversations apart. The hash is always there: without it two owners, or two
 * contexts that differ in a capital letter or after the fortieth character, would share what the agent remembers.
 */
export const cliSessionId = ({ agent, tenant, owner, contextId }: SessionScope): SessionKey => {
  const readable = contextId
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, '-')
    .slice(0, READABLE)
    .replaceAll(/^-+|-+$/g, '');
  const hash = createHash('sha256')
    .update(JSON.stringify([agent, tenant, owner, contextId]))
    .digest('hex');
  return ['a2a', readable, hash.slice(0, HASH)].filter((part) => part !== '').join('-');
};
