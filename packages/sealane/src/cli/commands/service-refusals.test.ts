import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { freePort, setUpSystem, unitOf } from '../service-manager/system-tools.fixture.ts';

describe('install refuses', () => {
  test.each([
    ['an admin key', ['--admin-key', 'sl_secret'], {}, /--admin-key would be shown[^]*--admin-key-file FILE/],
    ['one of the environment', [], { SEALANE_ADMIN_KEY: 'sl_secret' }, /SEALANE_ADMIN_KEY would be shown/],
    ['a password', ['--store', 'postgres://me:secret@db/x'], {}, /password[^]*store: file:/],
    ['an address that changes', ['--port', '0'], {}, /port 0/],
    ['wrong settings', ['--log-level', 'loud'], {}, /--log-level/],
  ])('%s, before it touches anything', async (_name, words, env, told) => {
    using system = setUpSystem();
    const { code, stderr } = await system.service(['install', ...words], env);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(told) });
    expect(stderr).not.toContain('secret');
    expect(system.tools.newCalls()).toEqual([]);
    expect(existsSync(unitOf(system.cli))).toBe(false);
  });

  test('a configuration that only this shell can read; what systemd itself tells is known', async () => {
    using system = setUpSystem();
    const { cli, tools, service } = system;
    const port = String(await freePort());
    mkdirSync(join(cli.home, '.sealane'), { mode: 0o700 });
    writeFileSync(
      join(cli.home, '.sealane', 'sealane.yaml'),
      `agents: { echo: { connector: echo, title: "\${TITLE}" } }\n`,
    );
    expect(await service(['install', '--port', port], { TITLE: 'mine' })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /sealane\.yaml:1: .*needs the environment variable TITLE[^]*next: .*variables of this shell/,
      ),
    });
    expect(existsSync(unitOf(cli))).toBe(false);
    tools.set('environment', 'LANG=C\nTITLE=mine\n');
    expect(await service(['install', '--port', port], { TITLE: 'mine' })).toMatchObject({ code: 0 });
  });

  test('a port that somebody else has, and a unit that somebody else wrote', async () => {
    using system = setUpSystem();
    const { cli, service } = system;
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const { port } = holder.address() as AddressInfo;
    expect(await service(['install', '--port', String(port)])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(new RegExp(`Port ${port} is taken[^]*service install --port ${port + 1}`)),
    });
    holder.close();
    mkdirSync(join(cli.home, '.config/systemd/user'), { recursive: true });
    writeFileSync(unitOf(cli), '[Service]\nExecStart=/bin/true\n');
    expect(await service(['install', '--port', String(port)])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('was not written by this command'),
    });
    expect(await service(['uninstall'])).toMatchObject({ code: 8 });
    expect(readFileSync(unitOf(cli), 'utf8')).toBe('[Service]\nExecStart=/bin/true\n');
  });
});

describe('where there is nobody to keep it running', () => {
  test.each([['install'], ['status'], ['uninstall']])('%s says what to do instead: no user bus', async (verb) => {
    using system = setUpSystem();
    system.tools.set('no-bus');
    expect(await system.service([verb])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/No medium found[^]*next: {2}run "sealane serve".*service install --print/),
    });
    expect(existsSync(unitOf(system.cli))).toBe(false);
    expect(await system.service(['install', '--print'])).toMatchObject({ code: 0 });
  });

  test('no systemd at all', async () => {
    using system = setUpSystem();
    expect(await system.service(['install'], { PATH: '/nowhere' })).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/there is no program systemctl[^]*run "sealane serve"/),
    });
  });

  test('another platform', async () => {
    using system = setUpSystem('freebsd');
    for (const verb of ['install', 'status', 'logs', 'uninstall'])
      expect(await system.service([verb])).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/this is freebsd[^]*run "sealane serve"/),
      });
  });
});
