import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, onTestFinished, test } from 'vitest';

import { findOpenclaw } from './find-openclaw.ts';

/** What is found in a home with these files. */
const look = (files: Readonly<Record<string, string>>, env: NodeJS.ProcessEnv = {}) => {
  const home = mkdtempSync(join(tmpdir(), 'sealane-find-'));
  onTestFinished(() => rmSync(home, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(home, name, '..'), { recursive: true });
    writeFileSync(join(home, name), text);
  }
  return findOpenclaw({ env: { PATH: home, ...env }, cwd: home, home });
};

const USUAL = '.openclaw/openclaw.json';

test('its configuration is looked for where OpenClaw looks', () => {
  const files = {
    [USUAL]: '{ gateway: { port: 1 } }',
    'state/openclaw.json': '{ gateway: { port: 2 } }',
    'named.json5': '{ gateway: { port: 3 } }',
  };
  const named = { OPENCLAW_STATE_DIR: 'state', OPENCLAW_CONFIG_PATH: '~/named.json5' };
  expect(look(files)?.url).toBe('ws://127.0.0.1:1');
  expect(look(files, { OPENCLAW_STATE_DIR: '~/state' })?.url).toBe('ws://127.0.0.1:2');
  expect(look(files, named)?.url).toBe('ws://127.0.0.1:3');
  expect(look(files, { ...named, OPENCLAW_GATEWAY_PORT: '4' })?.url).toBe('ws://127.0.0.1:4');
  const elsewhere = {
    ...files,
    'claw/.openclaw/openclaw.json': '{ gateway: { port: 5 } }',
    'claw/state/openclaw.json': '{ gateway: { port: 6 } }',
  };
  expect(look(elsewhere, { OPENCLAW_HOME: '~/claw' })?.url).toBe('ws://127.0.0.1:5');
  expect(look(elsewhere, { OPENCLAW_HOME: '~/claw', OPENCLAW_STATE_DIR: '~/state' })?.url).toBe('ws://127.0.0.1:6');
  expect(look({})).toBeUndefined();
});

test.each([
  ['{}', 'ws://127.0.0.1:18789'],
  ['{ gateway: { port: "x", tls: { enabled: true } } }', 'wss://127.0.0.1:18789'],
  ['{ gateway: { mode: "remote", port: 5, remote: { url: "wss://box.example" } } }', 'wss://box.example'],
  ['{ gateway: { mode: "local", port: 5, remote: { url: "wss://box.example" } } }', 'ws://127.0.0.1:5'],
])('the Gateway of %s is %s', (config, url) => {
  expect(look({ [USUAL]: config })?.url).toBe(url);
});

test('an address of a Gateway elsewhere that nobody could use is told, and not written down', () => {
  const found = look({ [USUAL]: '{ gateway: { mode: "remote", port: 5, remote: { url: "wss://my box:1" } } }' });
  expect(found?.url).toBe('ws://127.0.0.1:5');
  expect(found?.warnings).toEqual([expect.stringContaining('gateway.remote.url')]);
});

test.each([
  ['{}', ['main']],
  ['{ agents: { entries: { work: {}, main: {}, Home: { default: true } } } }', ['home', 'work', 'main']],
  ['{ agents: { list: [{ id: "a" }, { id: "main" }, { id: "no good" }, 7] } }', ['main', 'a']],
  ['{ agents: { entries: [] } }', ['main']],
])('the agents of %s are %j', (config, agents) => {
  expect(look({ [USUAL]: config })?.agents).toEqual(agents);
});

const auth = (token: unknown, rest: object = {}) => JSON.stringify({ gateway: { auth: { token } }, ...rest });

test.each([
  [auth('plain'), { kind: 'value', value: 'plain', from: 'gateway.auth.token' }],
  [auth('a-${PART}-$${X}'), { kind: 'value', value: 'a-7-${X}', from: 'gateway.auth.token' }],
  [auth('a-${NOBODY}'), { kind: 'missing', why: expect.stringContaining('NOBODY') }],
  [auth('${PART}'), { kind: 'variable', name: 'PART', value: '7' }],
  [auth('${NOBODY}'), { kind: 'variable', name: 'NOBODY', value: undefined }],
  [auth({ source: 'env', provider: 'default', id: 'PART' }), { kind: 'variable', name: 'PART', value: '7' }],
  [auth({ source: 'store', id: 'PART' }), { kind: 'missing', why: expect.stringContaining('secret store') }],
  [auth('${INLINE}', { env: { vars: { INLINE: '8' } } }), { kind: 'value', value: '8', from: 'env.vars.INLINE' }],
  [auth('${FILED}'), { kind: 'value', value: '9', from: 'FILED in the .env of OpenClaw' }],
  ['{ gateway: { auth: { mode: "password" } } }', { kind: 'missing', why: expect.stringContaining('"password"') }],
  [
    '{ gateway: { mode: "remote", auth: { token: "local" }, remote: { url: "wss://x.example", token: "far" } } }',
    { kind: 'value', value: 'far', from: 'gateway.remote.token' },
  ],
])('the token of %s is found', (config, token) => {
  expect(look({ [USUAL]: config, '.openclaw/.env': 'FILED=9\n' }, { PART: '7' })?.token).toEqual(token);
});

test('what cannot be read is told, without its text', () => {
  const found = look({ [USUAL]: '{\n  token: "secret' });
  expect(found?.warnings).toEqual([expect.stringMatching(/line 2: a value is missing/)]);
  expect(JSON.stringify(found)).not.toContain('secret');
  expect(look({ [USUAL]: '{ $include: "./more.json5" }' })?.warnings).toEqual([
    expect.stringContaining('includes other files'),
  ]);
});
