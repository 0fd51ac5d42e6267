import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { SessionScope } from '../agent-connector.ts';
import { openclawSessionKey } from './session-key.ts';

const scopeOf = (contextId: string, rest: Partial<SessionScope> = {}): SessionScope => ({
  agent: 'main',
  tenant: '',
  owner: 'admin',
  contextId,
  ...rest,
});

/** As OpenClaw stores it. */
const stored = (scope: SessionScope): string => openclawSessionKey('main', scope).toLowerCase().trim();

/** Words that are likely to be mistaken for one another: other cases, separators, escapes, halves of characters. */
const word = fc.oneof(
  fc.string({
    unit: fc.constantFrom('a', 'A', 'k', 'K', 'ß', 'İ', ':', '/', '~', '-', '_', '3', 'u', ' ', '\ud800', '\udbff'),
  }),
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom('x', 'Y', '~'), minLength: 100, maxLength: 200 }),
);
const scopes = fc.record({ agent: word, tenant: word, owner: word, contextId: word });

describe('the session of a conversation', () => {
  it.each([
    ['550e8400-e29b-41d4-a716-446655440000', 'a2a-550e8400-e29b-41d4-a716-446655440000'],
    ['my_context_123', 'a2a-my_context_123'],
  ])('keeps the simple context %s readable', (contextId, name) => {
    expect(openclawSessionKey('main', scopeOf(contextId))).toBe(`agent:main:sealane:n-main:u-admin:${name}`);
  });

  it('tells contexts apart that a simple clean-up would throw together', () => {
    const contexts = [
      'user:123/session:456',
      'user-123-session-456',
      'User:123/session:456',
      'user~3a123~2fsession~3a456',
    ];
    expect(new Set(contexts.map((contextId) => stored(scopeOf(contextId)))).size).toBe(contexts.length);
  });

  it('looks like no chat of OpenClaw, whatever its owner is called', () => {
    const key = openclawSessionKey('main', scopeOf('c', { owner: 'direct', agent: 'cron', tenant: 'subagent' }));
    expect(key).toBe('agent:main:sealane:n-cron:t-subagent:u-direct:a2a-c');
  });

  it('has a key that lower-casing does not change and that stays short', () => {
    fc.assert(
      fc.property(scopes, (scope) => {
        const key = openclawSessionKey('main', scope);
        expect(key).toBe(stored(scope));
        expect(key.length).toBeLessThan(600);
        expect(key).toMatch(/^[a-z0-9.:_~-]+$/);
      }),
    );
  });

  it('is never shared by two scopes', () => {
    fc.assert(
      fc.property(scopes, scopes, (one, other) => {
        const isSame = (['agent', 'tenant', 'owner', 'contextId'] as const).every((part) => one[part] === other[part]);
        expect(stored(one) === stored(other)).toBe(isSame);
      }),
      { numRuns: 2000 },
    );
    // Scopes that differ in one part, and there only a little.
    fc.assert(
      fc.property(scopes, word, fc.constantFrom('agent', 'tenant', 'owner', 'contextId'), (scope, other, part) => {
        fc.pre(scope[part] !== other);
        expect(stored({ ...scope, [part]: other })).not.toBe(stored(scope));
        if (scope[part] !== scope[part].toUpperCase())
          expect(stored({ ...scope, [part]: scope[part].toUpperCase() })).not.toBe(stored(scope));
      }),
      { numRuns: 2000 },
    );
  });
});
