import { createHash } from 'node:crypto';

import type { SessionKey, SessionScope } from '../agent-connector.ts';

/** A part of a key that is longer is cut, and told apart by a hash. */
const LONGEST = 120;
const KEPT = 60;

/**
 * The OpenClaw session of a conversation. OpenClaw lower-cases keys, so a part keeps only what survives that:
 * small letters, digits, `.`, `_` and `-`; anything else becomes `~` and its code. A part that is too long becomes its
 * beginning, `~~` and a hash, which no other part can look like. Contexts that are UUIDs or
 * simple words stay readable: `a2a-550e8400-e29b-41d4-a716-446655440000`, `a2a-my_context_123`.
 *
 * The words before the parts keep clear of what OpenClaw reads into keys: an owner who is called `direct` or `group`
 * must not look like a chat, and the keys of its own A2A channel begin with `a2a`. `service` tells services apart that
 * use the same OpenClaw: people of the same name in two of them are not the same.
 */
export const openclawSessionKey = (agentId: string, scope: SessionScope, service = 'sealane'): SessionKey =>
  [
    'agent',
    agentId.toLowerCase(),
    service,
    `n-${encodePart(scope.agent)}`,
    `t-${encodePart(scope.tenant)}`,
    `u-${encodePart(scope.owner)}`,
    `a2a-${encodePart(scope.contextId)}`,
  ]
    .filter((part) => part !== 't-')
    .join(':');

export const encodePart = (text: string): string => {
  const encoded = text.replaceAll(/[^a-z0-9._-]/g, (unit) => {
    const code = unit.charCodeAt(0).toString(16);
    return code.length <= 2 ? `~${code.padStart(2, '0')}` : `~u${code.padStart(4, '0')}`;
  });
  if (encoded.length <= LONGEST) return encoded;
  return `${encoded.slice(0, KEPT)}~~${createHash('sha256').update(encoded).digest('hex').slice(0, 40)}`;
};
