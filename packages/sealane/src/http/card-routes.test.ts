import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { ADMIN_KEY, openTestApp, type TestApp } from './http-app.fixture.ts';

let test: TestApp;
beforeAll(async () => {
  test = await openTestApp();
});
afterAll(async () => test[Symbol.asyncDispose]());

const AUTH = { authorization: `Bearer ${ADMIN_KEY}` };

describe('a card', () => {
  it('names the address that the caller used, and can be revalidated', async () => {
    const response = await fetch(`${test.url}/.well-known/agent-card.json`);
    const card = (await response.json()) as { supportedInterfaces: unknown; version: string };
    expect(card.supportedInterfaces).toEqual([
      { url: `${test.url}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    ]);
    expect(card.version).toBe('9.9.9');
    const etag = response.headers.get('etag') ?? '';
    const modified = response.headers.get('last-modified') ?? '';
    expect(response.headers.get('cache-control')).toBe('public, max-age=60');
    for (const headers of [{ 'if-none-match': `"x", W/${etag}` }, { 'if-modified-since': modified }] as Record<
      string,
      string
    >[]) {
      const again = await fetch(`${test.url}/.well-known/agent-card.json`, { headers });
      expect(again.status).toBe(304);
      expect(await again.text()).toBe('');
    }
  });

  it('of an agent that is not public is shown to those who may use it, and looks unknown to others', async () => {
    const path = '/agents/private/.well-known/agent-card.json';
    const hidden = await fetch(test.url + path);
    const unknown = await fetch(`${test.url}/agents/nobody/.well-known/agent-card.json`);
    expect([hidden.status, unknown.status]).toEqual([404, 404]);
    expect((await hidden.text()).replaceAll('private', 'nobody')).toBe(await unknown.text());
    const { secret } = await test.keys.create({ name: 'echo-only', agents: ['echo'] }, 'admin');
    expect((await fetch(test.url + path, { headers: { authorization: `Bearer ${secret}` } })).status).toBe(404);
    const shown = await fetch(test.url + path, { headers: AUTH });
    expect(shown.headers.get('cache-control')).toMatch(/^private/);
    expect(await shown.json()).toMatchObject({ supportedInterfaces: [{ url: `${test.url}/agents/private` }] });
  });
});
