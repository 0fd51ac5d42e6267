import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { freePort, isAnswering, setUpSystem, unitOf } from '../service-manager/system-tools.fixture.ts';

describe('a systemd user unit', () => {
  test('is installed, runs what it says, and is taken away again without the data', async () => {
    using system = setUpSystem();
    const { cli, tools, service } = system;
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const dataDir = join(cli.home, String.raw`my "data" %h $HOME \x`);

    const installed = await service(['install', '--port', String(port), '--data-dir', dataDir]);
    expect(installed).toMatchObject({ code: 0, stdout: expect.stringContaining(`sealane ready on ${url}\n`) });
    expect(tools.newCalls().filter((call) => !/ show /.test(call))).toEqual([
      'systemctl --user show-environment',
      'systemctl --user daemon-reload',
      'systemctl --user enable sealane.service',
      'systemctl --user reset-failed sealane.service',
      'systemctl --user restart sealane.service',
      expect.stringMatching(/^loginctl show-user \d+ --property=Linger$/),
    ]);
    expect(installed.stderr).toContain('loginctl enable-linger');
    // The words went through the file unharmed: the service made its key in that very folder, and in no unit.
    const key = readFileSync(join(dataDir, 'admin.key'), 'utf8').trim();
    expect(readFileSync(unitOf(cli), 'utf8')).not.toContain(key);
    expect(statSync(unitOf(cli)).mode & 0o077).toBe(0);

    const status = await service(['status', '--json']);
    expect(status.code).toBe(0);
    const facts = JSON.parse(status.stdout) as { pid: number };
    expect(facts).toMatchObject({
      installed: true,
      enabled: true,
      running: true,
      ready: true,
      url,
      dataDir,
      since: '2026-11-15T14:15:06.000Z',
    });
    expect((await service([])).stdout).toContain(
      `running    yes: active (running), process ${facts.pid}, since 2026-11-15T14:15:06.000Z\nready      yes\naddress    ${url}\n`,
    );

    const removed = await service(['uninstall']);
    expect(removed).toMatchObject({ code: 0, stderr: expect.stringContaining(`The data stays in ${dataDir}`) });
    expect(await isAnswering(url)).toBe(false);
    expect(existsSync(unitOf(cli))).toBe(false);
    expect(existsSync(join(dataDir, 'sealane.db'))).toBe(true);
    expect(await service([])).toMatchObject({ code: 8, stdout: expect.stringContaining('sealane service install') });
    expect(await service(['uninstall'])).toMatchObject({ code: 8, stderr: expect.stringContaining('next:') });
  });

  test('is updated by installing it again, also while it runs', async () => {
    using system = setUpSystem();
    const { cli, tools, service } = system;
    tools.set('linger');
    const [first, second] = [await freePort(), await freePort()];
    expect(await service(['install', '--port', String(first)])).toMatchObject({ code: 0, stderr: '' });
    const again = await service(['install', '--port', String(first), '--log-level', 'warn', '--json']);
    expect(JSON.parse(again.stdout)).toMatchObject({ updated: true, url: `http://127.0.0.1:${first}` });
    expect(readFileSync(unitOf(cli), 'utf8')).toContain('--log-level warn');
    expect(await service(['install', '--port', String(second)])).toMatchObject({ code: 0 });
    expect(await isAnswering(`http://127.0.0.1:${first}`)).toBe(false);
    expect(await isAnswering(`http://127.0.0.1:${second}`)).toBe(true);
    expect(readFileSync(unitOf(cli), 'utf8')).not.toContain('warn');
  });

  test('--print shows it and touches nothing; variables of this shell become flags, relative paths absolute', async () => {
    using system = setUpSystem();
    const { cli, tools, service } = system;
    writeFileSync(join(cli.home, 'my.yaml'), 'limits: { slots: 3 }\n');
    const { code, stdout, stderr } = await service(['install', '--print', '--config', 'my.yaml'], {
      SEALANE_PORT: '8123',
      SEALANE_DATA_DIR: 'here',
      PATH: `/opt/x/node_modules/.bin:relative:${tools.env.PATH}`,
    });
    expect(code).toBe(0);
    expect(stderr).toContain(unitOf(cli));
    expect(stdout).toMatch(
      new RegExp(
        `^ExecStart=\\S+node \\S+/bin/sealane\\.mjs serve --config ${cli.home}/my\\.yaml --port 8123 --data-dir ${cli.home}/here$`,
        'm',
      ),
    );
    expect(stdout).toMatch(new RegExp(`^Environment="?PATH=${tools.env.FAKE_TOOLS}:`, 'm'));
    expect(tools.newCalls()).toEqual([]);
    expect(existsSync(join(cli.home, '.config'))).toBe(false);
  });

  test('logs are those of journalctl', async () => {
    using system = setUpSystem();
    expect(await system.service(['logs'])).toMatchObject({ code: 0, stdout: 'what journalctl says\n' });
    await system.service(['logs', '-f', '-n', '5', '--json']);
    expect(system.tools.newCalls()).toEqual([
      'journalctl --user --unit=sealane.service --lines=100 --no-pager',
      'journalctl --user --unit=sealane.service --lines=5 --no-pager --follow --output=json',
    ]);
  });

  test('that stopped is told as such', async () => {
    using system = setUpSystem();
    const port = String(await freePort());
    await system.service(['install', '--port', port]);
    const { pid } = JSON.parse((await system.service(['status', '--json'])).stdout) as { pid: number };
    process.kill(pid, 'SIGKILL');
    await expect.poll(() => isAnswering(`http://127.0.0.1:${port}`)).toBe(false);
    expect(await system.service(['status'])).toMatchObject({
      code: 6,
      stdout: expect.stringMatching(/running {4}no: failed \(failed\)\nready {6}no: nothing answers/),
      stderr: expect.stringContaining('sealane service logs'),
    });
  });

  test('that does not become ready is told, with where to look', async () => {
    using system = setUpSystem();
    // The folder is in use, which only the service itself finds out.
    const other = system.cli.start(['serve', '--port', '0']);
    await other.saw('ready on');
    expect(await system.service(['install', '--port', String(await freePort())])).toMatchObject({
      code: 6,
      stderr: expect.stringMatching(/started but is not ready: failed[^]*next: {2}sealane service logs/),
    });
    other.child.kill('SIGTERM');
    await other.done;
  });
});

describe('a launchd agent', () => {
  test('is installed, runs what it says, is updated and taken away', async () => {
    using system = setUpSystem('darwin');
    const { cli, tools, service } = system;
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const plist = join(cli.home, 'Library/LaunchAgents/dev.sealane.plist');
    const dataDir = join(cli.home, 'R&D <"data">');
    const words = ['install', '--port', String(port), '--data-dir', dataDir];
    expect(await service(words)).toMatchObject({ code: 0, stdout: expect.stringContaining(`ready on ${url}\n`) });
    const calls = tools.newCalls().map((call) => call.replaceAll(/gui\/\d+/g, 'gui/ID'));
    expect(calls.filter((call) => !call.startsWith('launchctl print'))).toEqual([
      'launchctl enable gui/ID/dev.sealane',
      `launchctl bootstrap gui/ID ${plist}`,
    ]);
    expect(existsSync(join(dataDir, 'admin.key'))).toBe(true);
    expect(await service(words)).toMatchObject({ code: 0, stdout: expect.stringContaining('updated') });
    expect(tools.newCalls().some((call) => call.startsWith('launchctl bootout'))).toBe(true);
    expect(JSON.parse((await service(['status', '--json'])).stdout)).toMatchObject({
      enabled: true,
      running: true,
      ready: true,
      pid: expect.any(Number),
      since: expect.any(String),
      dataDir,
    });
    expect(await service(['uninstall'])).toMatchObject({ code: 0 });
    expect(await isAnswering(url)).toBe(false);
    expect([existsSync(plist), existsSync(join(dataDir, 'admin.key'))]).toEqual([false, true]);
  });

  test('lives in the domain without windows where there are none; its log is a file', async () => {
    using system = setUpSystem('darwin');
    const { cli, tools, service } = system;
    tools.set('no-gui');
    expect(await service(['install', '--port', String(await freePort())])).toMatchObject({ code: 0, stderr: '' });
    expect(tools.newCalls().find((call) => call.includes('bootstrap'))).toMatch(/ user\/\d+ /);
    mkdirSync(join(cli.home, 'Library/Logs'), { recursive: true });
    writeFileSync(join(cli.home, 'Library/Logs/sealane.log'), 'one\ntwo\nthree\n');
    expect(await service(['logs', '-n', '2'])).toMatchObject({ code: 0, stdout: 'two\nthree\n' });
  });
});
