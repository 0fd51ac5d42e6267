import { describe, expect, test } from 'vitest';

import { escapeXml, renderPlist } from './launchd-plist.ts';
import { flagsOf, type ServicePlan } from './service-plan.ts';
import { environmentOf, execWords, settingsOf } from './systemd-words.fixture.ts';
import { quote, quoteWord, renderUnit } from './systemd-unit.ts';

const ODD = [
  'a b',
  '100%',
  '%h',
  '$HOME',
  '${PATH}',
  '$$',
  'q"q',
  "it's",
  'back\\slash',
  'end\\',
  'line\nend',
  'tab\t',
  '',
];

const planWith = (more: Partial<ServicePlan> = {}): ServicePlan => ({
  program: '/usr/bin/node',
  args: ['/opt/sealane/bin/sealane.mjs', 'serve', '--data-dir', '/home/ann/.sealane'],
  cwd: '/home/ann',
  path: '/usr/local/bin:/usr/bin',
  flags: { dataDir: '/home/ann/.sealane' },
  ...more,
});

describe('a systemd unit', () => {
  test('is plain where nothing is odd', () => {
    const unit = renderUnit(planWith());
    expect(unit).toContain(
      'ExecStart=/usr/bin/node /opt/sealane/bin/sealane.mjs serve --data-dir /home/ann/.sealane\nWorkingDirectory=/home/ann\nEnvironment=PATH=/usr/local/bin:/usr/bin\nRestart=on-failure\n',
    );
    expect(unit).toMatch(/^After=network\.target$/m);
    expect(unit).toMatch(/^WantedBy=default\.target$/m);
    expect(unit).not.toMatch(/^(NoNewPrivileges|Protect\w+|Private\w+)=/m);
  });

  test.each([
    ['a b', '"a b"'],
    ['100%', '"100%%"'],
    ['$HOME', '"$$HOME"'],
    ['q"q', String.raw`"q\"q"`],
    ['back\\slash', String.raw`"back\\slash"`],
    ['line\nend', String.raw`"line\x0aend"`],
    ['', '""'],
  ])('writes the word %j as %s', (word, written) => {
    expect(quoteWord(word)).toBe(written);
  });

  test('leaves the dollars of the program alone, which systemd does not look into', () => {
    expect(quote('/opt/no de$1%/node')).toBe('"/opt/no de$1%%/node"');
  });

  test('starts with exactly the words of the plan, whatever is in them', () => {
    const args = ['/opt/my apps/50%/sealane.mjs', ...ODD];
    const settings = settingsOf(renderUnit(planWith({ program: '/opt/no de$1%/node', args, path: '/a b:/c%d:/e"$f' })));
    expect(settings.get('ExecStart')?.map(execWords)).toEqual([['/opt/no de$1%/node', ...args]]);
    expect(environmentOf(settings.get('Environment') ?? [])).toEqual({ PATH: '/a b:/c%d:/e"$f' });
  });

  test('writes the folder to start in without quotes, and refuses one that cannot be written so', () => {
    expect(renderUnit(planWith({ cwd: '/home/an n/100%' }))).toMatch(/^WorkingDirectory=\/home\/an n\/100%%$/m);
    for (const cwd of ['/home/x\\', '/home/x\ny', '/home/x '])
      expect(() => renderUnit(planWith({ cwd }))).toThrow('folder');
  });
});

describe('a launchd property list', () => {
  test('escapes what XML would read', () => {
    expect(escapeXml(`<a & "b" 'c'>\n`)).toBe('&lt;a &amp; &quot;b&quot; &apos;c&apos;&gt;&#10;');
    const plist = renderPlist(planWith({ args: ['R&D <x>'] }), '/Users/ann/Library/Logs/a&b.log');
    expect(plist).toContain('    <string>/usr/bin/node</string>\n    <string>R&amp;D &lt;x&gt;</string>\n');
    expect(plist).toContain('<string>/Users/ann/Library/Logs/a&amp;b.log</string>');
  });
});

describe('both', () => {
  test.each(ODD)('remember the flag %j', (dataDir) => {
    const flags = { dataDir, insecureHttp: true, config: '--><plist>--' };
    expect(flagsOf(renderUnit(planWith({ flags })))).toEqual(flags);
    const plist = renderPlist(planWith({ flags }), '/log');
    expect(flagsOf(plist)).toEqual(flags);
    const comments = plist.split('\n').filter((line) => line.includes('sealane-flags'));
    expect(comments).toEqual([expect.stringMatching(/^<!-- (?:(?!--).)* -->$/)]);
  });

  test('know a file of somebody else', () => {
    expect(flagsOf('[Service]\nExecStart=/usr/bin/sealane serve\n')).toBeUndefined();
  });
});
