/**
 * Stands in for `systemctl`, `journalctl`, `loginctl` and `launchctl`: records how it is called, and starts and stops
 * what the unit or the property list says, as the real ones would. Its folder is in FAKE_TOOLS.
 */
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { environmentOf, execWords, settingsOf, withoutSpecifiers } from './systemd-words.fixture.ts';

const folder = process.env.FAKE_TOOLS ?? '';
const [tool = '', ...words] = process.argv.slice(2);
appendFileSync(join(folder, 'calls'), `${JSON.stringify([tool, ...words])}\n`);

const note = (name: string) => join(folder, name);
const has = (name: string) => existsSync(note(name));
const read = (name: string) => (has(name) ? readFileSync(note(name), 'utf8') : '');

const runningPid = (): number | undefined => {
  const pid = Number(read('pid'));
  if (pid === 0) return undefined;
  try {
    process.kill(pid, 0);
    // A process that has ended stays listed until its parent asks; its parent is long gone, or this machine's first.
    return existsSync('/proc/self/stat') && / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8')) ? undefined : pid;
  } catch {
    return undefined;
  }
};

const stop = async (): Promise<void> => {
  const pid = runningPid();
  if (pid !== undefined) process.kill(pid, 'SIGTERM');
  while (runningPid() !== undefined) await sleep(20);
  rmSync(note('pid'), { force: true });
};

/** What the manager gives to everything it starts. */
const told = (): Record<string, string> =>
  Object.fromEntries(
    [...read('environment').matchAll(/^(\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
  );

const start = ([program = '', ...args]: readonly string[], cwd: string, env: Record<string, string>): void => {
  const log = openSync(note('log'), 'a');
  // Nothing of this shell's variables: that is how the system starts things.
  const child = spawn(program, args, {
    cwd,
    env: { HOME: homedir(), XDG_CACHE_HOME: process.env.XDG_CACHE_HOME, ...told(), ...env },
    detached: true,
    stdio: ['ignore', log, log],
  });
  child.unref();
  writeFileSync(note('pid'), String(child.pid));
};

const startUnit = (): void => {
  const unit = settingsOf(readFileSync(join(homedir(), '.config/systemd/user/sealane.service'), 'utf8'));
  const line = (name: string) => unit.get(name)?.[0] ?? '';
  start(
    execWords(line('ExecStart')),
    withoutSpecifiers(line('WorkingDirectory')),
    environmentOf(unit.get('Environment') ?? []),
  );
};

const startPlist = (file: string): void => {
  const plist = readFileSync(file, 'utf8');
  const stringsAfter = (key: string) =>
    [
      ...(plist.split(`<key>${key}</key>`)[1] ?? '').split(/<\/array>|<key>/)[0]!.matchAll(/<string>(.*)<\/string>/g),
    ].map(([, text = '']) =>
      text
        .replaceAll('&lt;', '<')
        .replaceAll('&gt;', '>')
        .replaceAll('&quot;', '"')
        .replaceAll('&apos;', "'")
        .replaceAll('&amp;', '&'),
    );
  start(stringsAfter('ProgramArguments'), stringsAfter('WorkingDirectory')[0] ?? '', {
    PATH: stringsAfter('PATH')[0] ?? '',
  });
};

const show = (): string => {
  const pid = runningPid();
  const [active, sub] =
    pid !== undefined ? ['active', 'running'] : has('pid') ? ['failed', 'failed'] : ['inactive', 'dead'];
  return [
    `MainPID=${pid ?? 0}`,
    `ActiveState=${active}`,
    `SubState=${sub}`,
    `UnitFileState=${has('enabled') ? 'enabled' : 'disabled'}`,
    `ActiveEnterTimestamp=${pid === undefined ? '' : 'Sun 2026-11-15 14:15:06 UTC'}`,
    '',
  ].join('\n');
};

const fail = (message: string, code = 1): void => {
  process.stderr.write(`${message}\n`);
  process.exitCode = code;
};

const systemctl = async ([, verb = '', ...rest]: readonly string[]): Promise<void> => {
  if (has('no-bus')) return fail('Failed to connect to bus: No medium found');
  if (verb === 'show-environment') process.stdout.write(read('environment'));
  else if (verb === 'enable') writeFileSync(note('enabled'), '');
  else if (verb === 'restart') await stop().then(startUnit);
  else if (verb === 'show') process.stdout.write(show());
  else if (verb === 'disable') {
    rmSync(note('enabled'), { force: true });
    if (rest.includes('--now')) await stop();
  } else if (!['daemon-reload', 'reset-failed'].includes(verb)) fail(`Unknown command verb ${verb}.`);
};

const launchctl = async ([verb = '', target = '', file = '']: readonly string[]): Promise<void> => {
  if (target.startsWith('gui/') && has('no-gui')) return fail('Could not find domain', 113);
  if (verb === 'bootout') await stop();
  else if (verb === 'bootstrap') startPlist(file);
  else if (verb === 'print' && target.endsWith('/dev.sealane')) {
    if (!has('pid')) return fail('Could not find service "dev.sealane"', 113);
    const pid = runningPid();
    process.stdout.write(
      `\tstate = ${pid === undefined ? 'not running' : 'running'}\n${pid ? `\tpid = ${pid}\n` : ''}`,
    );
  }
};

if (tool === 'systemctl') await systemctl(words);
else if (tool === 'launchctl') await launchctl(words);
else if (tool === 'loginctl') process.stdout.write(`Linger=${has('linger') ? 'yes' : 'no'}\n`);
else process.stdout.write(`what ${tool} says\n`);
