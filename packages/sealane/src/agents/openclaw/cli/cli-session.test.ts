import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { SessionScope } from '../../agent-connector.ts';
import { cliSessionId } from './cli-session.ts';

const scopeOf = (contextId: string, rest: Partial<SessionScope> = {}): SessionScope => ({
  agent: 'main',
  tenant: '',
  owner: 'admin',
  contextId,
  ...rest,
});

describe('the session id of a conversation', () => {
  it.each([
    ['550e8400-e29b-41d4-a716-446655440000', 'a2a-550e8400-e29b-41d4-a716-446655440000-'],
    ['user:123/session:456', 'a2a-user-123-session-456-'],
    ['my_context_123', 'a2a-my_context_123-'],
  ])('of %s begins with %s', (contextId, name) => {
    expect(cliSessionId(scopeOf(contextId)).startsWith(name)).toBe(true);
  });

  it('is one that OpenClaw takes, whatever the context is called, and the same every time', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 70 }), (contextId) => {
        expect(cliSessionId(scopeOf(contextId))).toMatch(/^[a-z0-9][a-z0-9_-]{0,63}$/);
        expect(cliSessionId(scopeOf(contextId))).toBe(cliSessionId(scopeOf(contextId)));
      }),
    );
  });

  it('tells apart what a simple clean-up would throw together, and owners, tenants and agents', () => {
    const long = 'x'.repeat(80);
    const ids = [
      ...['a:b', 'a/b', 'a-b', 'A-B', '', '-', long, `${long}y`].map((contextId) => cliSessionId(scopeOf(contextId))),
      cliSessionId(scopeOf('a-b', { owner: 'bob' })),
      cliSessionId(scopeOf('a-b', { tenant: 'bob' })),
      cliSessionId(scopeOf('a-b', { agent: 'bob' })),
    ];
    expect(new Set(ids).size).toBe(ids.length);
  });
});
