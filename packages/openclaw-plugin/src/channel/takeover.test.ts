import { describe, expect, it } from 'vitest';

import { type ChannelRuntime, createTakeover } from './takeover.ts';

const routing: ChannelRuntime['channel']['routing'] = {
  resolveAgentRoute: ({ peer }) => ({ agentId: peer.id === 'bound' ? 'writer' : 'main' }),
};

const takeoverOf = (a2a: object | undefined) =>
  createTakeover({ config: { channels: { ...(a2a && { a2a }) } }, prefix: '/a2a', routing });

describe('a takeover of the channel', () => {
  it('is nothing where there are no peers', () => {
    expect(takeoverOf(undefined)).toBeUndefined();
    expect(takeoverOf({ enabled: true })).toBeUndefined();
    expect(takeoverOf({ peers: {} })).toBeUndefined();
  });

  it('gives each peer its token, an owner of its own, and the one agent that OpenClaw binds it to', () => {
    const takeover = takeoverOf({ peers: { ann: { token: 'a' }, bound: { token: 'b', url: 'http://x.test' } } });
    expect(takeover?.givenKeys).toEqual([
      { name: 'bound', owner: 'a2a:bound', secret: 'b', agents: ['writer'], ratePerMinute: 30 },
      { name: 'ann', owner: 'a2a:ann', secret: 'a', agents: ['main'], ratePerMinute: 30 },
    ]);
    expect(takeover?.agentOf.get('bound')).toBe('writer');
  });

  it('waits and counts as the channel did', () => {
    const peers = { ann: { token: 'a' } };
    expect(takeoverOf({ peers })).toMatchObject({ waitMs: 120_000, publicUrl: undefined });
    const told = takeoverOf({ peers, rateLimitPerMinute: 0, replyTimeoutMs: 9000, advertisedUrl: 'https://c.test/' });
    expect(told).toMatchObject({ waitMs: 9000, publicUrl: 'https://c.test/a2a' });
    expect(told?.givenKeys[0]?.ratePerMinute).toBe(Infinity);
  });

  it('shows everybody the agents that the channel showed', () => {
    const peers = { ann: { token: 'a' } };
    expect(takeoverOf({ peers })?.isPublic('any')).toBe(true);
    const some = takeoverOf({ peers, exposeAgents: ['main'] });
    expect([some?.isPublic('main'), some?.isPublic('writer')]).toEqual([true, false]);
  });
});
