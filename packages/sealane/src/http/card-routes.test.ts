import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { ADMIN_KEY, openTestApp, speak, type TestApp } from './http-app.fixture.ts';

let test: TestApp;
beforeAll(async () => {
  test = await openTestApp();
});
afterAll(async () => test[Symbol.asyncDispose]());

const AUTH = { authorization: `Bearer ${ADMIN_KEY}` };
const CARD = '/.well-known/agent-card.json';

interface Card {
  readonly url?: string;
  readonly protocolVersion?: string;
  readonly version: string;
  readonly supportedInterfaces?: readonly { readonly url: string }[];
  readonly signatures?: readonly object[];
}

const get = async (path: string, headers: Record<string, string> = {}, app = test) => {
  const response = await fetch(app.url + path, { headers });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, card: () => JSON.parse(text) as Card };
};

describe('a card', () => {
  it('names the address that the caller used', async () => {
    const { card, headers } = await get(CARD);
    expect(card()).toMatchObject({ url: `${test.url}/a2a`, version: '9.9.9', protocolVersion: '0.3.0' });
    expect(card().supportedInterfaces?.map(({ url }) => url)).toEqual(Array(4).fill(`${test.url}/a2a`));
    expect(headers.get('content-type')).toBe('application/json');
  });

  it('comes in the version that is asked for, by header or query, and caches are told', async () => {
    const v1 = await get(CARD, { 'a2a-version': '1.0' });
    expect(v1.card()).not.toHaveProperty('url');
    expect(v1.card().signatures).toHaveLength(1);
    expect((await get(`${CARD}?A2A-Version=1.0`)).card()).toEqual(v1.card());
    const v03 = await get(CARD, { 'a2a-version': '0.3' });
    expect(v03.card()).toMatchObject({ url: `${test.url}/a2a` });
    expect(v03.card()).not.toHaveProperty('supportedInterfaces');
    expect(v03.headers.get('vary')).toBe('A2A-Version, Host');
    const tags = new Set([v1, v03, await get(CARD)].map(({ headers }) => headers.get('etag')));
    expect(tags.size).toBe(3);
  });

  it('for old clients is at the old address', async () => {
    for (const [path, url] of [
      ['/.well-known/agent.json', `${test.url}/a2a`],
      ['/agents/echo/.well-known/agent.json', `${test.url}/agents/echo`],
    ] as const) {
      const { card } = await get(path, { 'a2a-version': '1.0' });
      expect(card()).toMatchObject({ url, authentication: { schemes: ['bearer'] } });
    }
  });

  it('can be revalidated', async () => {
    const { headers } = await get(CARD);
    const etag = headers.get('etag') ?? '';
    const modified = headers.get('last-modified') ?? '';
    expect(headers.get('cache-control')).toBe('public, max-age=60');
    expect(etag).toMatch(/^W\/"[\w-]{22}"$/);
    const known = [
      { 'if-none-match': etag },
      { 'if-none-match': `"x", ${etag.slice(2)} , "y"` },
      { 'if-none-match': '*' },
      { 'if-modified-since': modified },
    ];
    for (const validator of known as Record<string, string>[]) {
      const again = await get(CARD, validator);
      expect([again.status, again.text], JSON.stringify(validator)).toEqual([304, '']);
      expect(again.headers.get('etag')).toBe(etag);
      expect(again.headers.get('vary')).toContain('A2A-Version');
    }
    const unknown = [
      { 'if-none-match': '"x", W/"y"' },
      { 'if-none-match': '"x"', 'if-modified-since': modified },
      { 'if-modified-since': new Date(0).toUTCString() },
      { 'if-modified-since': 'yesterday' },
    ];
    for (const validator of unknown as Record<string, string>[])
      expect((await get(CARD, validator)).status, JSON.stringify(validator)).toBe(200);
  });

  it('answers HEAD with the headers of GET, and 405 to POST', async () => {
    const head = await fetch(test.url + CARD, { method: 'HEAD' });
    const { headers, text } = await get(CARD);
    expect([head.status, await head.text()]).toEqual([200, '']);
    for (const name of ['etag', 'last-modified', 'cache-control', 'vary', 'content-type'])
      expect(head.headers.get(name)).toBe(headers.get(name));
    expect(head.headers.get('content-length')).toBe(String(Buffer.byteLength(text)));
    expect((await fetch(test.url + CARD, { method: 'POST' })).status).toBe(405);
  });

  it('of an agent that is not public is shown to those who may use it, and looks unknown to others', async () => {
    const path = `/agents/private${CARD}`;
    const hidden = await get(path);
    for (const name of ['nobody', '__proto__', 'constructor', 'toString']) {
      const unknown = await get(`/agents/${name}${CARD}`);
      expect([hidden.status, unknown.status]).toEqual([404, 404]);
      expect(hidden.text.replaceAll('private', name)).toBe(unknown.text);
    }
    const { secret } = await test.keys.create({ name: 'echo-only', agents: ['echo'] }, 'admin');
    expect((await get(path, { authorization: `Bearer ${secret}` })).status).toBe(404);
    const shown = await get(path, AUTH);
    expect(shown.headers.get('cache-control')).toMatch(/^private/);
    expect(shown.headers.get('vary')).toContain('Authorization');
    expect(shown.card()).toMatchObject({ url: `${test.url}/agents/private` });
  });

  it('is not found by a Host that says something else', async () => {
    const port = new URL(test.url).port;
    for (const host of ['evil.example', `127.0.0.1:${port}/x`, `u@127.0.0.1:${port}`, '127.0.0.1"', '127.0.0.1 x']) {
      const answer = await speak(test.url, `GET ${CARD} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      expect(answer, host).toMatch(/^HTTP\/1\.1 4\d\d/);
    }
    const answer = await speak(test.url, `GET ${CARD} HTTP/1.0\r\n\r\n`);
    expect(answer).toContain(`"url":"${test.url}/a2a"`);
  });
});

describe('behind a proxy', () => {
  const FORWARDED = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'tasks.example', 'x-forwarded-prefix': '/a' };

  it('headers of a peer that is not trusted change nothing', async () => {
    expect((await get(CARD, FORWARDED)).card().url).toBe(`${test.url}/a2a`);
  });

  it('a card names what a trusted proxy says, if the host is allowed', async () => {
    await using proxied = await openTestApp({ trustedProxies: ['loopback'], allowedHosts: ['tasks.example'] });
    const { card, headers } = await get(CARD, FORWARDED, proxied);
    expect(card().url).toBe('https://tasks.example/a/a2a');
    expect(headers.get('vary')).toContain('X-Forwarded-Host');
    expect((await get(CARD, { ...FORWARDED, 'x-forwarded-host': 'evil.example' }, proxied)).status).toBe(403);
    expect((await get(CARD, { forwarded: 'host="evil.example"' }, proxied)).status).toBe(403);
    expect((await get(CARD, { 'x-forwarded-host': '"><script>' }, proxied)).card().url).toBe(`${proxied.url}/a2a`);
  });

  it('the public address wins', async () => {
    await using proxied = await openTestApp({ trustedProxies: ['loopback'], publicUrl: 'https://public.example/x/' });
    const { card, headers } = await get(
      CARD,
      { 'x-forwarded-host': 'public.example', 'x-forwarded-proto': 'http' },
      proxied,
    );
    expect(card().url).toBe('https://public.example/x/a2a');
    expect(headers.get('vary')).toBe('A2A-Version');
  });

  it('a service that is mounted at /a2a is called there', async () => {
    await using mounted = await openTestApp({ prefix: '/a2a' });
    expect((await get(`/a2a${CARD}`, {}, mounted)).card().url).toBe(`${mounted.url}/a2a`);
  });

  it('a page of the forwarded host may call', async () => {
    await using proxied = await openTestApp({ trustedProxies: ['loopback'], allowedHosts: ['tasks.example'] });
    const origin = 'https://tasks.example';
    expect((await get(CARD, { ...FORWARDED, origin }, proxied)).status).toBe(200);
    expect((await get(CARD, { ...FORWARDED, origin: 'https://evil.example' }, proxied)).status).toBe(403);
  });

  it('a card that depends on the version depends on the origin, too, where CORS is on', async () => {
    await using open = await openTestApp({ allowedOrigins: ['https://app.example'] });
    const { headers } = await get(CARD, { origin: 'https://app.example' }, open);
    expect(headers.get('vary')).toBe('Origin, A2A-Version, Host');
  });
});

describe('the keys of cards', () => {
  it('are public, can be revalidated, and change when the operator rotates them', async () => {
    const first = await get('/.well-known/jwks.json');
    expect(first.headers.get('cache-control')).toBe('public, max-age=300');
    const etag = first.headers.get('etag') ?? '';
    expect((await get('/.well-known/jwks.json', { 'if-none-match': etag })).status).toBe(304);
    const card = await get(CARD);
    const rotate = async (headers: Record<string, string>, body?: string) =>
      fetch(`${test.url}/admin/card-keys/rotate`, { method: 'POST', headers, ...(body !== undefined && { body }) });
    const { secret } = await test.keys.create({ name: 'no-admin' }, 'admin');
    expect((await rotate({ authorization: `Bearer ${secret}` })).status).toBe(403);
    const rotated = (await (await rotate(AUTH)).json()) as { kid: string };
    const kids = (text: string) => (JSON.parse(text) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid);
    const second = await get('/.well-known/jwks.json', { 'if-none-match': etag });
    expect(kids(second.text)).toEqual([rotated.kid, ...kids(first.text)]);
    expect((await get(CARD, { 'if-none-match': card.headers.get('etag') ?? '' })).card().signatures).toHaveLength(2);
    const listed = await get('/admin/card-keys', AUTH);
    expect(listed.text).not.toContain('privateJwk');
    expect(JSON.parse(listed.text)).toMatchObject({ keys: [{ kid: rotated.kid, retiredAt: null }, {}] });
    const json = { ...AUTH, 'content-type': 'application/json' };
    expect((await rotate(json, '{"forgetFormer":"yes"}')).status).toBe(400);
    expect((await rotate(json, '{"forgetFormer":true}')).status).toBe(200);
    expect(kids((await get('/.well-known/jwks.json')).text)).toHaveLength(1);
    expect(
      (JSON.parse((await get('/admin/audit?kind=card-key-rotated', AUTH)).text) as { events: [] }).events,
    ).toHaveLength(2);
  });
});

describe('the extended card of A2A 0.2', () => {
  it('needs a key, is for that key alone, and is kept by no cache', async () => {
    const path = '/agent/authenticatedExtendedCard';
    expect((await get(path)).status).toBe(401);
    const { headers, card } = await get(path, AUTH);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(card()).toMatchObject({ url: `${test.url}/a2a`, skills: [{ id: 'echo' }, { id: 'private' }] });
    expect((await get(`/agents/private${path}`, AUTH)).card()).toMatchObject({ url: `${test.url}/agents/private` });
    // Clients that found the card below /a2a look for this one there, too.
    expect((await get(`/a2a${path}`, AUTH)).card()).toMatchObject({ url: `${test.url}/a2a` });
    const { secret } = await test.keys.create({ name: 'echo-too', agents: ['echo'] }, 'admin');
    const mine = await get(path, { authorization: `Bearer ${secret}` });
    expect(mine.text).not.toContain('private');
    expect((await get(`/agents/private${path}`, { authorization: `Bearer ${secret}` })).status).toBe(404);
  });
});
