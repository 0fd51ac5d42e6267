import { AgentCard, canonicalizeAgentCard, verifyAgentCardSignature } from '@a2a-js/sdk';
import { describe, expect, it, vi } from 'vitest';

import { BINDINGS } from './drivers/driver.ts';
import { createGrpcDriver } from './drivers/grpc.ts';
import { createJsonRpcDriver } from './drivers/json-rpc.ts';
import { createRestDriver } from './drivers/rest.ts';
import { ADMIN_KEY } from '../support/service.ts';
import { useWorld } from './world.ts';

const world = useWorld();
const CARD = '/.well-known/agent-card.json';

// The SDK verifies cards as they come over the wire, and calls their type AgentCard all the same.
const show = (headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${world.service.url}${CARD}`, { headers: { 'a2a-version': '1.0', ...headers } });
const cardOf = async (): Promise<AgentCard> => (await (await show()).json()) as AgentCard;

const DRIVERS = { JSONRPC: createJsonRpcDriver, 'HTTP+JSON': createRestDriver, GRPC: createGrpcDriver };

describe('the public card', () => {
  it('is at the well-known address, for everybody, and complete [CARD-DISC-001 CARD-STRUCT-001]', async () => {
    const response = await show();
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toMatch(/^application\/(a2a\+)?json\b/);
    const card = (await response.json()) as AgentCard;
    for (const name of ['name', 'description', 'version'])
      expect(card).toHaveProperty(name, expect.stringMatching(/./));
    for (const name of ['supportedInterfaces', 'defaultInputModes', 'defaultOutputModes', 'skills'])
      expect(card).toHaveProperty(name, expect.arrayContaining([expect.anything()]));
    expect(card).toMatchObject({ capabilities: { streaming: true, pushNotifications: true } });
    expect(AgentCard.toJSON(AgentCard.fromJSON(card))).toEqual(card);
  });

  it('is also below the address of JSON-RPC, for clients that look there [CARD-DISC-001]', async () => {
    const [there, here] = [await fetch(`${world.service.url}/a2a${CARD}`), await fetch(`${world.service.url}${CARD}`)];
    expect(await there.json()).toEqual(await here.json());
  });

  it('names every binding that is served, and each works as it says [CARD-PROTO-001 CARD-PROTO-002 BIND-FIELD-001]', async () => {
    const { supportedInterfaces } = await cardOf();
    for (const binding of BINDINGS) {
      const found = supportedInterfaces.find(
        ({ protocolBinding, protocolVersion }) => protocolBinding === binding && protocolVersion === '1.0',
      );
      expect(found, binding).toBeDefined();
      const driver = DRIVERS[binding](found!.url, ADMIN_KEY);
      expect((await driver.call('ListTasks', {})).error).toBeUndefined();
      driver.close();
    }
  });

  it('declares how to authenticate [CARD-STRUCT-001 AUTH-SERVER-003]', async () => {
    expect(await cardOf()).toMatchObject({
      securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
      securityRequirements: [{ schemes: { bearer: {} } }],
    });
  });

  it('says how long it may be kept and when it changed [CARD-CACHE-001 CARD-CACHE-003]', async () => {
    const { headers } = await show();
    expect(headers.get('cache-control')).toMatch(/max-age=\d+/);
    expect(Date.parse(headers.get('last-modified') ?? '')).toBeLessThanOrEqual(Date.now());
  });

  it('is not sent again while it is the same [CARD-CACHE-002]', async () => {
    const etag = (await show()).headers.get('etag') ?? '';
    expect(etag).toMatch(/^(W\/)?".+"$/);
    const again = await show({ 'if-none-match': etag });
    expect([again.status, await again.text()]).toEqual([304, '']);
    expect((await show({ 'if-none-match': '"another"' })).status).toBe(200);
  });
});

describe('the signature of a card', () => {
  const keyOf = async (kid: string, jku?: string) => {
    const { keys } = (await (await fetch(jku!)).json()) as { keys: { kid: string }[] };
    return keys.find((key) => key.kid === kid)!;
  };

  it('is one that the official SDK verifies, until a letter changes [CARD-SIGN-001]', async () => {
    const card = await cardOf();
    const verify = verifyAgentCardSignature(keyOf);
    await expect(verify(card)).resolves.toBeUndefined();
    vi.spyOn(console, 'debug').mockImplementation(() => undefined);
    await expect(verify({ ...card, name: 'somebody else' })).rejects.toThrow(/signature/);
  });

  it('does not cover signatures [CARD-SIGN-002]', async () => {
    const card = await cardOf();
    expect(canonicalizeAgentCard(card)).not.toContain('signatures');
    const twice = { ...card, signatures: [...card.signatures, ...card.signatures] };
    await expect(verifyAgentCardSignature(keyOf)(twice)).resolves.toBeUndefined();
  });

  it('names its algorithm and its key [CARD-SIGN-003]', async () => {
    const [signature] = (await cardOf()).signatures;
    const header: unknown = JSON.parse(Buffer.from(signature!.protected, 'base64url').toString());
    expect(header).toMatchObject({ alg: expect.stringMatching(/./), kid: expect.stringMatching(/./), typ: 'JOSE' });
  });
});

describe.each(BINDINGS)('the extended card over %s', (binding) => {
  const { ask, call } = world.speak(binding);

  it('is for known callers only [CARD-EXT-001]', async () => {
    for (const key of [null, 'wrong']) {
      expect((await ask('GetExtendedAgentCard', {}, { key })).error?.reason).toBe('UNAUTHENTICATED');
    }
    expect(await call('GetExtendedAgentCard', {})).toHaveProperty('name');
  });

  it('shows a caller only what it may use [CARD-EXT-002]', async () => {
    const key = await world.keyOf('visitor', { agents: ['echo'] });
    const all = await call<AgentCard>('GetExtendedAgentCard', {});
    const some = await call<AgentCard>('GetExtendedAgentCard', {}, { key });
    expect(JSON.stringify(all.skills)).toContain('texts');
    expect(JSON.stringify(some.skills)).not.toContain('texts');
  });
});
