import { AgentCard, canonicalizeAgentCard, verifyAgentCardSignature } from '@a2a-js/sdk';
import * as fc from 'fast-check';
import { createLocalJWKSet, flattenedVerify, type JSONWebKeySet, type JWK } from 'jose';
import { describe, expect, it, vi } from 'vitest';

import { createAgentRegistry } from '#engine';

import { agentNamed } from '../agent-named.fixture.ts';
import { ALL_CAPABILITIES } from '../capabilities.ts';
import { canonicalCard } from './canonical-card.ts';
import type { CardKeyStore } from '#store';

import { createMemoryCardKeyStore } from './memory-card-key-store.fixture.ts';
import { createCardKeys } from './card-keys.ts';
import { createCards } from './cards.ts';
import { PUBLISH_MS, SIGN_ALONG_MS } from './key-ring.ts';

const BASE = 'https://tasks.example';
const agent = agentNamed('main', { isDefault: true, isPublic: true });

const openCards = (store: CardKeyStore = createMemoryCardKeyStore()) => {
  let at = 1_000_000;
  const cards = createCards({
    registry: createAgentRegistry([agent]),
    version: '1',
    capabilities: ALL_CAPABILITIES,
    extensions: [],
    options: { keys: store },
    now: () => at,
  });
  const { keys } = cards;
  if (!keys) throw new Error('The cards have no keys.');
  return {
    keys,
    pass: (ms: number) => void (at += ms),
    card: async (form: 'hybrid' | '1.0' = '1.0') =>
      JSON.parse((await cards.show({ agent, atRoot: true, baseUrl: BASE, form })).text) as AgentCard,
    jwks: async () => JSON.parse((await keys.ring()).jwks) as JSONWebKeySet,
  };
};

/** As a client does it that fetches the keys from `jku`. */
const verify = async (card: AgentCard, { keys }: JSONWebKeySet): Promise<void> => {
  vi.spyOn(console, 'debug').mockImplementation(() => undefined);
  await verifyAgentCardSignature(async (kid, jku) => {
    expect(jku).toBe(`${BASE}/.well-known/jwks.json`);
    const key = keys.find((found) => found.kid === kid);
    if (!key) throw new Error(`No key ${kid}.`);
    return key;
  })(card);
};
const headersOf = ({ signatures }: AgentCard) =>
  signatures.map((entry) => JSON.parse(Buffer.from(entry.protected, 'base64url').toString()) as JWK);

describe('what is signed', () => {
  it('is what the official SDK takes a card for', () => {
    const text = fc.string({ unit: 'binary' }).map((given) => given.toWellFormed());
    const value = fc.jsonValue({ maxDepth: 2, stringUnit: 'grapheme' }).filter((json) => !hasNull(json));
    fc.assert(
      fc.property(
        fc.record({
          name: text,
          description: text,
          version: text,
          capabilities: fc.record({
            streaming: fc.boolean(),
            extensions: fc.array(fc.record({ uri: text, params: fc.dictionary(text.filter(isPlain), value) })),
          }),
          defaultInputModes: fc.array(text),
          skills: fc.array(fc.record({ id: text, tags: fc.array(text), examples: fc.array(text) })),
        }),
        (card) => {
          expect(canonicalCard(card)).toBe(canonicalizeAgentCard(card as unknown as AgentCard));
        },
      ),
      { numRuns: 200 },
    );
  });
});

/** The SDK's objects have a prototype to step on; ours come from its parser, which has taken such names out. */
const isPlain = (name: string): boolean => name !== '__proto__';
const hasNull = (json: unknown): boolean => /null|__proto__/.test(JSON.stringify(json));

describe('the signature of a card', () => {
  it.each(['1.0', 'hybrid'] as const)('of the form %s is verified by the official SDK', async (form) => {
    const { card, jwks } = openCards();
    const signed = await card(form);
    await verify(signed, await jwks());
    expect(headersOf(signed)).toEqual([
      { alg: 'ES256', kid: (await jwks()).keys[0]?.kid, typ: 'JOSE', jku: `${BASE}/.well-known/jwks.json` },
    ]);
  });

  it('does not hold for a card that was changed, or signed by another service', async () => {
    const { card, jwks } = openCards();
    const signed = await card();
    const other = openCards();
    await expect(verify({ ...signed, name: 'Mallory' }, await jwks())).rejects.toThrow('No valid signatures');
    const [first, ...rest] = signed.supportedInterfaces;
    const moved = {
      ...signed,
      supportedInterfaces: [{ ...first, url: 'https://evil.example/a2a' }, ...rest],
    } as AgentCard;
    await expect(verify(moved, await jwks())).rejects.toThrow('No valid signatures');
    await expect(verify(signed, await other.jwks())).rejects.toThrow('No valid signatures');
  });

  it('is a plain JWS for those who have no SDK', async () => {
    const { card, jwks } = openCards();
    const signed = await card();
    const payload = Buffer.from(canonicalizeAgentCard(signed)).toString('base64url');
    const [signature] = signed.signatures;
    await expect(
      flattenedVerify({ ...signature, payload } as never, createLocalJWKSet(await jwks())),
    ).resolves.toMatchObject({ protectedHeader: { alg: 'ES256' } });
  });
});

describe('the keys of cards', () => {
  it('are published without their secret', async () => {
    const { keys } = await openCards().jwks();
    expect(keys.map((key) => Object.keys(key).toSorted())).toEqual([['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']]);
  });

  it('follow each other without a gap: the former one signs along for a day and is published for a week', async () => {
    const { keys, card, jwks, pass } = openCards();
    const before = await jwks();
    const old = await card();
    const kid = await keys.rotate();
    const overlapping = await card();
    expect(headersOf(overlapping).map((header) => header.kid)).toEqual([kid, before.keys[0]?.kid]);
    await verify(overlapping, before);
    await verify(overlapping, await jwks());
    pass(SIGN_ALONG_MS);
    expect(headersOf(await card()).map((header) => header.kid)).toEqual([kid]);
    await verify(old, await jwks());
    pass(PUBLISH_MS - SIGN_ALONG_MS);
    expect((await jwks()).keys.map((key) => key.kid)).toEqual([kid]);
    await expect(verify(old, await jwks())).rejects.toThrow('No valid signatures');
  });

  it('can be forgotten at once when one has leaked', async () => {
    const { keys, card, jwks } = openCards();
    const stolen = await card();
    await keys.rotate();
    await keys.rotate();
    expect((await card()).signatures).toHaveLength(2);
    const kid = await keys.rotate({ forgetFormer: true });
    expect((await jwks()).keys.map((key) => key.kid)).toEqual([kid]);
    expect(await keys.list()).toEqual([{ kid, createdAt: 1_000_000, retiredAt: null }]);
    await expect(verify(stolen, await jwks())).rejects.toThrow('No valid signatures');
  });

  it('are one for all instances that share a store, also when they start together', async () => {
    const store = createMemoryCardKeyStore();
    const both = [openCards(store), openCards(store)] as const;
    const [one, other] = await Promise.all(both.map((instance) => instance.jwks()));
    expect(one).toEqual(other);
    await both[0].keys.rotate();
    // The other one has not looked again: its card is still verified by both, and so is the new one by its keys.
    for (const { card } of both) for (const { jwks } of both) await verify(await card(), await jwks());
    both[1].pass(30_000);
    expect(await both[1].jwks()).toEqual(await both[0].jwks());
  });

  it('of two rotations at the same moment one is refused', async () => {
    const { keys } = openCards();
    await keys.ring();
    const outcomes = await Promise.allSettled([keys.rotate(), keys.rotate()]);
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect((await keys.list()).filter(({ retiredAt }) => retiredAt === null)).toHaveLength(1);
  });

  it('never go back to the former one, however late a look into the store comes back', async () => {
    const memory = createMemoryCardKeyStore();
    const gate = Promise.withResolvers<void>();
    let isSlow = false;
    let at = 0;
    const list: CardKeyStore['list'] = async () => {
      const records = await memory.list();
      if (isSlow) {
        isSlow = false;
        await gate.promise;
      }
      return records;
    };
    const keys = createCardKeys({ ...memory, list }, () => at);
    await keys.ring();
    at = 30_000;
    isSlow = true;
    const late = keys.ring();
    const kid = await keys.rotate();
    gate.resolve();
    await late;
    expect((await keys.ring()).id).toMatch(new RegExp(`^${kid} `));
  });

  it('are still used while their store is away', async () => {
    const memory = createMemoryCardKeyStore();
    let isAway = false;
    const keys = createCardKeys(
      { ...memory, list: async () => (isAway ? Promise.reject(new Error('away')) : memory.list()) },
      () => (isAway ? 1e9 : 0),
    );
    const ring = await keys.ring();
    isAway = true;
    expect(await keys.ring()).toBe(ring);
  });
});
