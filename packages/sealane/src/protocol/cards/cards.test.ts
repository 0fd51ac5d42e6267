import { AgentCard } from '@a2a-js/sdk';
import { describe, expect, it } from 'vitest';

import type { AgentConnector } from '#agents';
import { type AgentEntry, type Caller, createAgentRegistry } from '#engine';

import { agentNamed } from '../agent-named.fixture.ts';
import { ALL_CAPABILITIES } from '../capabilities.ts';
import { createMemoryCardKeyStore } from './memory-card-key-store.fixture.ts';
import { CAPACITY } from './card-texts.ts';
import { type CardOptions, type Cards, createCards } from './cards.ts';

const BASE = 'https://tasks.example';
const main = agentNamed('main', { title: 'Main', isDefault: true, isPublic: true });
const writer = agentNamed('writer', { title: 'The writer', description: 'Writes.', outputModes: ['text/markdown'] });
const secret = agentNamed('secret');

type Card = Record<string, unknown> & {
  readonly skills: readonly { readonly id: string; readonly description: string }[];
};

const cardsOf = (agents: readonly AgentEntry[], options: Partial<CardOptions> = {}) => {
  const registry = createAgentRegistry(agents);
  const common = { registry, version: '1.2.3', capabilities: ALL_CAPABILITIES, extensions: [] };
  return { registry, cards: createCards({ ...common, options }) };
};
const show = async (cards: Cards, form: Parameters<Cards['show']>[0]['form'], agent = main): Promise<Card> =>
  JSON.parse((await cards.show({ agent, atRoot: agent === main, baseUrl: BASE, form })).text) as Card;
const callerOf = (agents: readonly string[] | null): Caller => ({
  owner: 'ann',
  keyId: 'k',
  admin: false,
  agents,
  permission: 'read-only',
  tenant: '',
});
const extended = async (cards: Cards, agents: readonly string[] | null, agent?: string): Promise<Card> =>
  JSON.parse(await cards.extended({ caller: callerOf(agents), agent, baseUrl: () => BASE })) as Card;

describe('a card of A2A 1.0', () => {
  it('is one that the official SDK reads without losing anything', async () => {
    const { cards } = cardsOf([main], { keys: createMemoryCardKeyStore() });
    const card = await show(cards, '1.0');
    expect(AgentCard.toJSON(AgentCard.fromJSON(card))).toEqual(card);
    expect(card).toMatchObject({ name: 'Main', version: '1.2.3', capabilities: { extendedAgentCard: true } });
  });

  it('lists every binding in 1.0 before any in 0.3, gRPC only at the root and while its port is open', async () => {
    let address: string | undefined;
    const { cards } = cardsOf([main, writer], { grpcAddress: () => address, grpcVersions: ['1.0', '0.3'] });
    const listOf = async (agent?: AgentEntry) =>
      ((await show(cards, '1.0', agent))['supportedInterfaces'] as Record<string, string>[]).map(
        ({ protocolBinding, protocolVersion, url }) => `${protocolBinding} ${protocolVersion} ${url}`,
      );
    expect(await listOf()).toEqual([
      `JSONRPC 1.0 ${BASE}/a2a`,
      `HTTP+JSON 1.0 ${BASE}/a2a`,
      `JSONRPC 0.3 ${BASE}/a2a`,
      `HTTP+JSON 0.3 ${BASE}/a2a`,
    ]);
    address = 'tasks.example:7421';
    expect(await listOf()).toEqual([
      `JSONRPC 1.0 ${BASE}/a2a`,
      `HTTP+JSON 1.0 ${BASE}/a2a`,
      'GRPC 1.0 tasks.example:7421',
      `JSONRPC 0.3 ${BASE}/a2a`,
      `HTTP+JSON 0.3 ${BASE}/a2a`,
      'GRPC 0.3 tasks.example:7421',
    ]);
    expect(await listOf(writer)).toEqual([
      `JSONRPC 1.0 ${BASE}/agents/writer`,
      `HTTP+JSON 1.0 ${BASE}/agents/writer`,
      `JSONRPC 0.3 ${BASE}/agents/writer`,
      `HTTP+JSON 0.3 ${BASE}/agents/writer`,
    ]);
    const young = cardsOf([main], { grpcAddress: () => address }).cards;
    expect((await show(young, '1.0'))['supportedInterfaces']).toHaveLength(5);
    expect((await show(young, '0.3'))['additionalInterfaces']).toHaveLength(2);
  });

  it('has no empty members, and none that the agent did not say', async () => {
    const quiet = agentNamed('main', {
      isDefault: true,
      connector: { kind: 'command' } as AgentConnector,
      skills: [{ id: 's', name: 'S', description: '', tags: [], examples: [] }],
      extensions: [{ uri: 'urn:x', required: false, description: '' }],
    });
    const { cards } = cardsOf([quiet], { security: 'none' });
    const card = await show(cards, '1.0', quiet);
    expect(card.skills).toEqual([{ id: 's', name: 'S', description: 'The agent main.', tags: ['command'] }]);
    expect((card['capabilities'] as { extensions: unknown[] }).extensions.at(-1)).toEqual({ uri: 'urn:x' });
    expect(card).not.toHaveProperty('securitySchemes');
    expect(card).not.toHaveProperty('securityRequirements');
  });
});

describe('the form of a card', () => {
  it('follows the version that is asked for, and no version is refused', () => {
    const { cards } = cardsOf([main]);
    const pure = cardsOf([main], { form: 'pure' }).cards;
    expect(['1.0', '1.0.1', ' 1 ', '1.7'].map((version) => cards.formFor(version))).toEqual(Array(4).fill('1.0'));
    expect(['0.3', '0.3.0', '0.2.6'].map((version) => cards.formFor(version))).toEqual(Array(3).fill('0.3'));
    expect([undefined, '', '9.0', 'x', '1.0, 0.3'].map((version) => cards.formFor(version))).toEqual(
      Array(5).fill('hybrid'),
    );
    expect([undefined, '0.3'].map((version) => pure.formFor(version))).toEqual(['1.0', '0.3']);
  });

  it('hybrid holds the whole card of 1.0 and the whole card of 0.3', async () => {
    const { cards } = cardsOf([main]);
    const hybrid = await show(cards, 'hybrid');
    expect(AgentCard.fromJSON(hybrid)).toEqual(AgentCard.fromJSON(await show(cards, '1.0')));
    expect(hybrid).toMatchObject(await show(cards, '0.3'));
  });

  it('hybrid has one meaning: a scheme that is made of its members for 0.3 is the one that was signed', async () => {
    const hybrid = await show(cardsOf([main]).cards, 'hybrid');
    const { bearer } = hybrid.securitySchemes as { readonly bearer: Readonly<Record<string, unknown>> };
    const { type, httpAuthSecurityScheme, ...older } = bearer;
    expect(type).toBe('http');
    expect(older).toEqual(httpAuthSecurityScheme);
  });

  it('old is what clients of 0.2 and 0.1 look for', async () => {
    const { cards } = cardsOf([main]);
    expect(await show(cards, 'old')).toMatchObject({
      url: `${BASE}/a2a`,
      protocolVersion: '0.2.6',
      capabilities: { streaming: true, pushNotifications: true, stateTransitionHistory: false },
      authentication: { schemes: ['bearer'] },
      security: [{ bearer: [] }],
      defaultInputModes: ['*/*'],
      skills: [{ id: 'main' }],
    });
  });
});

describe('the extended card', () => {
  it('at the root adds a skill for each further agent of the caller, and nothing of the others', async () => {
    const { cards } = cardsOf([main, writer, secret]);
    const card = await extended(cards, ['main', 'writer']);
    expect(card.skills.map(({ id }) => id)).toEqual(['main', 'writer']);
    expect(card.skills[1]).toEqual({
      id: 'writer',
      name: 'The writer',
      description: `Writes. Name it with metadata.executor "writer", or call ${BASE}/agents/writer.`,
      tags: ['agent', 'echo'],
      inputModes: ['*/*'],
      outputModes: ['text/markdown'],
    });
    expect(JSON.stringify(card)).not.toContain('secret');
    expect((await extended(cards, null)).skills.map(({ id }) => id)).toEqual(['main', 'writer', 'secret']);
    const v03 = JSON.parse(
      await cards.extendedV03({ caller: callerOf(['main', 'writer']), agent: undefined, baseUrl: () => BASE }),
    ) as Card;
    expect(v03).toMatchObject({ url: `${BASE}/a2a`, protocolVersion: '0.3.0', skills: card.skills });
  });

  it('is a directory for a caller that may not use the default agent', async () => {
    const { cards } = cardsOf([main, writer, secret]);
    const card = await extended(cards, ['writer']);
    expect(card).toMatchObject({ name: 'Sealane', skills: [{ id: 'writer' }] });
    expect(JSON.stringify(card)).not.toMatch(/main|secret/i);
    await expect(extended(cards, [])).rejects.toMatchObject({ code: 'agent-not-found' });
  });

  it('of one agent is shown to those who may use it; to others it looks unknown', async () => {
    const { cards } = cardsOf([main, writer, secret]);
    expect(await extended(cards, ['secret'], 'secret')).toMatchObject({ name: 'secret', skills: [{ id: 'secret' }] });
    const refusals = await Promise.all(
      ['secret', 'nobody', '__proto__', 'constructor'].map((name) =>
        extended(cards, ['main'], name).catch((error: Error) => error.message.replace(name, 'NAME')),
      ),
    );
    expect(new Set(refusals).size).toBe(1);
  });

  it('keeps skill ids apart when a skill is called like an agent', async () => {
    const busy = agentNamed('main', {
      isDefault: true,
      skills: [{ id: 'writer', name: 'W', description: 'd', tags: ['t'] }],
    });
    const { cards } = cardsOf([busy, writer]);
    expect((await extended(cards, null)).skills.map(({ id }) => id)).toEqual(['writer', 'agents/writer']);
  });
});

describe('a card that was made', () => {
  it('is signed once, and again when the agents or the keys have changed', async () => {
    const { cards, registry } = cardsOf([main], { keys: createMemoryCardKeyStore() });
    const request = { agent: main, atRoot: true, baseUrl: BASE, form: '1.0' } as const;
    const first = await cards.show(request);
    expect(await cards.show(request)).toBe(first);
    registry.replaceAll([main, writer]);
    const second = await cards.show(request);
    expect(second.text).not.toBe(first.text);
    expect(second.tag).toBe(first.tag);
    await cards.keys?.rotate();
    expect((await cards.show(request)).tag).not.toBe(first.tag);
  });

  it('is forgotten when too many other addresses were asked for', async () => {
    const { cards } = cardsOf([main], { keys: createMemoryCardKeyStore() });
    const at = (baseUrl: string) => cards.show({ agent: main, atRoot: true, baseUrl, form: '1.0' });
    const first = await at(BASE);
    for (let n = 1; n < CAPACITY; n += 1) await at(`http://h${n}.example`);
    expect(await at(BASE)).toBe(first);
    // Whoever was asked for last stays longest.
    await at('http://one-more.example');
    expect(await at(BASE)).toBe(first);
    for (let n = 0; n < CAPACITY; n += 1) await at(`http://other${n}.example`);
    expect(await at(BASE)).not.toBe(first);
  });
});
