import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { ConfigError, describeConfig, loadConfig, storeTarget, type Flags, type LoadedConfig } from './index.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'sealane-config-'));
});
afterEach(() => rmSync(home, { recursive: true }));

const load = (yaml: string | undefined, flags: Flags = {}, env: NodeJS.ProcessEnv = {}): LoadedConfig => {
  const file = join(home, 'sealane.yaml');
  if (yaml !== undefined) writeFileSync(file, yaml);
  return loadConfig({ flags: { dataDir: home, ...flags }, env, cwd: home, home });
};

/** A file with an agent that is a program. */
const program = (setting: string): string => `agents: { a: { connector: command, command: [cat], ${setting} } }`;

/** A few lines of aliases that would be a hundred million settings. */
const BOMB = [
  'a: &a [x, x, x, x, x, x, x, x, x, x]',
  ...['b', 'c', 'd', 'e', 'f', 'g', 'h'].map(
    (name, at) => `${name}: &${name} [${Array.from({ length: 10 }, () => `*${'abcdefg'[at]}`).join(', ')}]`,
  ),
].join('\n');

/** What is refused, without the folder that differs from run to run. */
const problemsOf = (yaml: string, flags: Flags = {}, env: NodeJS.ProcessEnv = {}): readonly string[] => {
  try {
    load(yaml, flags, env);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as ConfigError).problems.map(({ where, setting, message }) =>
      `${where} ${setting} ${message}`.replaceAll(`${home}/`, ''),
    );
  }
  return [];
};

describe('without a file', () => {
  test('a fresh install serves a public echo agent on the loopback address', () => {
    const { config, fileExists } = loadConfig({ flags: {}, env: {}, cwd: '/', home });
    expect(fileExists).toBe(false);
    expect(config).toMatchObject({ port: 7420, host: '127.0.0.1', dataDir: join(home, '.sealane'), store: 'sqlite' });
    expect(config.agents).toMatchObject({ echo: { connector: 'echo', default: true, public: true } });
    expect(config.tasks).toEqual({
      ttlDays: 7,
      timeoutMinutes: 30,
      queueTimeoutMinutes: 1440,
      inputTimeoutMinutes: 10_080,
      waitSeconds: 600,
      cancelGraceSeconds: 10,
    });
    expect(config.limits).toMatchObject({ bodyBytes: 1_048_576, laneWaiting: 9999, ratePerMinute: 6000, slots: 256 });
    expect(storeTarget(config)).toEqual({ kind: 'sqlite', file: join(home, '.sealane', 'sealane.db') });
  });

  test('a file that was named must exist', () => {
    expect(() => loadConfig({ flags: { config: 'absent.yaml' }, env: {}, cwd: home, home })).toThrow(
      /absent\.yaml: does not exist/,
    );
  });
});

describe('sources', () => {
  test('flags win over the environment, the environment over the file, the file over the defaults', () => {
    const loaded = load(
      'port: 1\nhost: localhost\nlogLevel: warn\n',
      { port: '3' },
      { SEALANE_PORT: '2', SEALANE_HOST: '127.0.0.2', SEALANE_STORE: '' },
    );
    expect(loaded.config).toMatchObject({ port: 3, host: '127.0.0.2', logLevel: 'warn', store: 'sqlite' });
    expect(loaded.sourceOf(['port'])).toEqual({ kind: 'flag', name: '--port' });
    expect(loaded.sourceOf(['host'])).toEqual({ kind: 'environment', name: 'SEALANE_HOST' });
    expect(loaded.sourceOf(['logLevel'])).toEqual({ kind: 'file', path: join(home, 'sealane.yaml'), line: 3 });
    expect(loaded.sourceOf(['store'])).toEqual({ kind: 'default' });
    expect(loaded.sourceOf(['tasks', 'ttlDays'])).toEqual({ kind: 'default' });
  });

  test('a list is written with commas outside the file', () => {
    const yaml = 'trustedProxies: [10.0.0.0/8, "::1"]\n';
    const proxies = (env: NodeJS.ProcessEnv, flags: Flags = {}) => load(yaml, flags, env).config.trustedProxies;
    expect(proxies({})).toEqual(['10.0.0.0/8', '::1']);
    expect(proxies({ SEALANE_TRUSTED_PROXIES: 'loopback, 192.0.2.1' })).toEqual(['loopback', '192.0.2.1']);
    expect(proxies({}, { trustedProxies: '2001:db8::/32' })).toEqual(['2001:db8::/32']);
    expect(problemsOf('', {}, { SEALANE_TRUSTED_PROXIES: 'loopback,10.0.0.0/33,proxy' })).toEqual([
      'SEALANE_TRUSTED_PROXIES trustedProxies.1 must be an address, a range like 10.0.0.0/8, or loopback.',
      'SEALANE_TRUSTED_PROXIES trustedProxies.2 must be an address, a range like 10.0.0.0/8, or loopback.',
    ]);
  });

  test('paths start at the file in the file, at the current folder elsewhere, and at home with ~', () => {
    const file = join(home, 'etc.yaml');
    writeFileSync(file, 'dataDir: data\n');
    const at = (flags: Flags, env: NodeJS.ProcessEnv = {}) =>
      loadConfig({ flags, env, cwd: '/project', home }).config.dataDir;
    expect(at({ config: file })).toBe(join(home, 'data'));
    expect(at({}, { SEALANE_CONFIG: file })).toBe(join(home, 'data'));
    expect(at({ config: file, dataDir: 'here' })).toBe('/project/here');
    expect(at({ dataDir: '~/there' })).toBe(join(home, 'there'));
  });

  test('the admin key comes from its file, unless the key itself was given closer to the command line', () => {
    writeFileSync(join(home, 'secret'), 'sl_from_file\n');
    expect(load('adminKeyFile: secret\n').config.adminKey).toBe('sl_from_file');
    expect(load('adminKeyFile: secret\n', {}, { SEALANE_ADMIN_KEY: 'sl_env' }).config.adminKey).toBe('sl_env');
    expect(load('adminKey: sl_yaml\n', { adminKeyFile: 'secret' }).config.adminKey).toBe('sl_from_file');
    expect(problemsOf('adminKey: a\nadminKeyFile: secret\n')).toEqual([
      'sealane.yaml:2 adminKeyFile and adminKey are both given: keep one of them.',
    ]);
    expect(problemsOf('', { adminKeyFile: 'nowhere' })[0]).toMatch(
      /^--admin-key-file adminKeyFile names nowhere, which cannot be read \(ENOENT\)/,
    );
  });
});

describe('secrets', () => {
  const yaml = [
    'adminKey: "${ADMIN}"',
    'port: ${PORT}',
    'store: postgres://me:hunter2@db/sealane',
    'agents:',
    '  main:',
    '    connector: command',
    '    command: [cat, "file:kept", "$${HOME}"]',
    '    env: { PLAIN: visible-only-here, FETCHED: file:token }',
  ].join('\n');

  test('${ENV} and file: are fetched, with $${ as the way to write ${', () => {
    writeFileSync(join(home, 'token'), 'from-file\n');
    const { config } = load(yaml, {}, { ADMIN: '12345', PORT: '81' });
    expect(config).toMatchObject({ adminKey: '12345', port: 81 });
    expect(config.agents.main).toMatchObject({
      command: ['cat', 'file:kept', '${HOME}'],
      env: { FETCHED: 'from-file' },
    });
  });

  test('none of them appears in the description', () => {
    writeFileSync(join(home, 'token'), 'from-file\n');
    const views = describeConfig(load(yaml, {}, { ADMIN: 'sl_admin', PORT: '81' }));
    expect(JSON.stringify(views)).not.toMatch(/sl_admin|hunter2|visible-only-here|from-file/);
    const byName = Object.fromEntries(views.map(({ setting, value }) => [setting, value]));
    expect(byName).toMatchObject({
      adminKey: '(hidden, from ${ADMIN})',
      store: 'postgres://me:(hidden)@db/sealane',
      'agents.main.env.PLAIN': '(hidden)',
      'tasks.ttlDays': 7,
    });
  });

  test('none of them appears in a refusal', () => {
    expect(problemsOf('adminKey: "two words"\nstore: postgers://me:hunter2@db\n').join()).not.toMatch(
      /two words|hunter2/,
    );
    expect(problemsOf('logLevel: ${LEVEL}\n', {}, { LEVEL: 'hunter2' })).toEqual([
      'sealane.yaml:1 logLevel must be trace, debug, info, warn, error, fatal, silent.',
    ]);
  });

  test('one that cannot be fetched is told once, with what to do', () => {
    expect(problemsOf('port: ${ABSENT}\nadminKey: file:absent.key\n')).toEqual([
      'sealane.yaml:1 port needs the environment variable ABSENT, which is not set: export ABSENT=…',
      expect.stringMatching(/^sealane\.yaml:2 adminKey names the file absent\.key, which cannot be read \(ENOENT\)/),
    ]);
  });
});

describe('a folder in place of a file', () => {
  beforeEach(() => mkdirSync(join(home, 'folder')));

  test.each([
    ['adminKey: file:folder', {}, 'sealane.yaml:1 adminKey names the file folder, which is a folder: name a file that'],
    ['adminKeyFile: folder', {}, 'sealane.yaml:1 adminKeyFile names folder, which is a folder: name a file that'],
    ['', { adminKeyFile: 'folder' }, '--admin-key-file adminKeyFile names folder, which is a folder: name a file that'],
    ['', { config: 'folder' }, 'folder  is a folder, not a file: put the settings into a file, and give its name with'],
  ])('%s %o', (yaml, flags, expected) => {
    expect(problemsOf(yaml, flags)).toEqual([expect.stringContaining(expected)]);
  });

  test('a link to a file is a file', () => {
    writeFileSync(join(home, 'real.yaml'), 'port: 81\nadminKey: file:link.key\n');
    writeFileSync(join(home, 'real.key'), 'secret');
    symlinkSync('real.yaml', join(home, 'sealane.yaml'));
    symlinkSync('real.key', join(home, 'link.key'));
    expect(load(undefined).config).toMatchObject({ port: 81, adminKey: 'secret' });
  });
});

describe('refusals', () => {
  test('everything that is wrong is told at once, each with its place', () => {
    const yaml = [
      'prot: 7420',
      'port: seven',
      'tasks: { ttlDay: 7, timeoutMinutes: 0 }',
      'agents:',
      '  main:',
      '    connector: hub',
      '  "bad name": { connector: echo }',
      '  other: { connector: ecko }',
      '  third: { conector: echo }',
      '  fourth: { connector: echo, concurrency: 1.5, recovery: retri, skills: [{ name: x }] }',
      'keys:',
      '  hermes: { agents: [mian], rate: 30/week, permission: all }',
    ].join('\n');
    const problems = problemsOf(yaml, {}, { SEALANE_GRPC_PORT: '70000' });
    expect(problems).toEqual(
      expect.arrayContaining([
        'SEALANE_GRPC_PORT grpcPort must be at most 65535, not 70000.',
        'sealane.yaml:1 prot is not a setting; did you mean "port"?',
        'sealane.yaml:2 port must be a number, not "seven".',
        'sealane.yaml:3 tasks.ttlDay is not a setting; did you mean "ttlDays"?',
        'sealane.yaml:3 tasks.timeoutMinutes must be more than 0, not 0.',
        'sealane.yaml:6 agents.main.connector is not in this version: use echo, command or openclaw, not "hub".',
        expect.stringMatching(/^sealane\.yaml:7 agents\.bad name is not a possible name: it must be letters, digits/),
        'sealane.yaml:8 agents.other.connector must be echo, command or openclaw (did you mean echo?), not "ecko".',
        'sealane.yaml:9 agents.third.connector is missing: use echo, command or openclaw.',
        'sealane.yaml:10 agents.fourth.concurrency must be a whole number, not 1.5.',
        'sealane.yaml:10 agents.fourth.recovery must be fail, retry (did you mean retry?), not "retri".',
        'sealane.yaml:10 agents.fourth.skills.0.id is missing.',
        'sealane.yaml:12 keys.hermes.agents.0 names the agent mian, which is not configured; known: main, bad name, other, third, fourth.',
        'sealane.yaml:12 keys.hermes.rate must be a rate like 30/min, 5/s or 1000/h, not "30/week".',
        'sealane.yaml:12 keys.hermes.permission must be read-only, guarded, workspace, agent-default, not "all".',
      ]),
    );
    expect(problems).toHaveLength(15);
  });

  test.each([
    ['port: [1', /is not valid YAML/],
    ['agents: &x { echo: *x }', /contains itself/],
    ['port: 1\nagents: *nope', /sealane\.yaml:2 {2}has the alias \*nope, .*write "\*nope" in quotes if it is a text/],
    ['port: 1\n---\nport: 2', /sealane\.yaml:\d {2}has a second document, after a line `---`: keep one/],
    [BOMB, /sealane\.yaml {2}repeats too much of itself by aliases/],
    ['port: 1e999', /sealane\.yaml:1 port must be a finite number, not 1e999\.$/],
    ['tasks:\n  ttlDays: -.inf', /sealane\.yaml:2 tasks\.ttlDays must be a finite number, not -\.inf\.$/],
    ['port: .nan', /port must be a finite number, not \.nan\.$/],
    [
      'agents:\n  a:\n    connector: echo\n    inputModes: [*/*]',
      /sealane\.yaml:4 {2}has the alias \*\/\*, .*write "\*\/\*" in quotes/,
    ],
    ['port: 1\nport: 2', /sealane\.yaml:2 {2}is not valid YAML: .*unique/i],
    ['- a', /must be a map of settings/],
    ['agents: {}', /sealane\.yaml:1 agents must name at least one agent/],
    [
      'agents:\n  a: { connector: echo, default: true }\n  b: { connector: echo, default: true }',
      /sealane\.yaml:3 agents\.b\.default must be true for one agent only; a is/,
    ],
    ['store: mysql://db', /store must be sqlite, memory or postgres:/],
    ['publicUrl: ftp://x', /publicUrl must be an address like https:/],
    ['port: 8000\ngrpcPort: 8000', /grpcPort must differ from port/],
    ['allowedHosts: tasks.example', /allowedHosts must be a list, not "tasks.example"/],
    ['limits: { slots: 0 }', /limits\.slots must be at least 1, not 0/],
    ['keys: { a: { agents: [] } }', /keys\.a\.agents must not be empty/],
    ['limits: 5', /limits must be a map, not 5/],
    ['logLevel: 5', /logLevel must be/],
    ['adminKey: 5', /adminKey must be a text \(in quotes/],
    [program('inheritEnv: AWS_KEY'), /agents\.a\.inheritEnv must be true or false or a list, not "AWS_KEY"\./],
    [program('inheritEnv: [AWS_KEY, 5]'), /agents\.a\.inheritEnv\.1 must be a text \(in quotes.*, not 5\./],
    [program('env: { KEY: "s\\0e\\0c\\0" }'), /agents\.a\.env\.KEY has a NUL character; .* save that as UTF-8\.$/],
    [program('env: { A=B: c }'), /agents\.a\.env\.A=B is not a possible name: it must not be empty and has no "="/],
    [program('cwd: ""'), /agents\.a\.cwd must not be empty/],
    ['tasks: { waitSeconds: 3000000 }', /tasks\.waitSeconds must be at most 604800, not 3000000/],
    ['tasks: { cancelGraceSeconds: 3000000 }', /tasks\.cancelGraceSeconds must be at most 604800, not 3000000/],
    [program('beatLimitMs: 1000000000000'), /agents\.a\.beatLimitMs must be at most \d+, not 1000000000000\./],
    [program('killGraceMs: 1000000000000'), /agents\.a\.killGraceMs must be at most \d+, not 1000000000000\./],
  ])('%s', (yaml, expected) => {
    expect(problemsOf(yaml).join('\n')).toMatch(expected);
  });

  test.each([
    ['agents: { __proto__: { connector: echo }, b: { connector: echo } }', 'agents.__proto__'],
    ['keys: { __proto__: { rate: 1/s } }', 'keys.__proto__'],
    ['__proto__: { port: 1 }', '__proto__'],
    [program('env: { __proto__: x }'), 'agents.a.env.__proto__'],
  ])('a name that objects cannot keep is refused wherever it stands: %s', (yaml, setting) => {
    expect(problemsOf(yaml)).toEqual([`sealane.yaml:1 ${setting} is not a possible name: choose another.`]);
  });

  test('names that every object inherits are names like others', () => {
    const { config } = load('agents: { constructor: { connector: echo }, toString: { connector: echo } }');
    expect(Object.entries(config.agents)).toMatchObject([
      ['constructor', { connector: 'echo' }],
      ['toString', { connector: 'echo' }],
    ]);
    expect(problemsOf('agents: { constructor: { connector: echo, titel: x } }\nvalueOf: 1')).toEqual([
      'sealane.yaml:1 agents.constructor.titel is not a setting; did you mean "title"?',
      'sealane.yaml:2 valueOf is not a setting; see `sealane config schema`.',
    ]);
  });

  test('a setting that resembles none gets the list of those that exist', () => {
    expect(problemsOf('keys: { a: { zzz: 1 } }')).toEqual([
      'sealane.yaml:1 keys.a.zzz is not a setting; known here: agents, permission, rate.',
    ]);
    expect(problemsOf('zzzzzzzz: 1')).toEqual([
      'sealane.yaml:1 zzzzzzzz is not a setting; see `sealane config schema`.',
    ]);
  });

  test('the settings of a program are known by name and checked with the rest', () => {
    const yaml = [
      'agents:',
      '  main:',
      '    connector: command',
      '    command: [cat]',
      '    input: argument',
      '  other:',
      '    connector: command',
      '    comand: [cat]',
      '    timeoutMinutes: soon',
    ].join('\n');
    expect(problemsOf(yaml)).toEqual([
      expect.stringMatching(/^sealane\.yaml:5 agents\.main\.input `argument` needs `\{message\}`/),
      'sealane.yaml:6 agents.other.command is missing.',
      'sealane.yaml:9 agents.other.timeoutMinutes must be a number, not "soon".',
      'sealane.yaml:8 agents.other.comand is not a setting; did you mean "command"?',
    ]);
  });

  test('an address that others can reach needs TLS in front or a clear word', () => {
    const [problem, ...more] = problemsOf('', { host: '0.0.0.0' });
    expect(more).toEqual([]);
    expect(problem).toMatch(
      /^--host host is 0\.0\.0\.0, which other machines can reach.*--public-url https:.*--insecure-http/,
    );
    expect(problemsOf('', { host: '0.0.0.0', publicUrl: 'http://tasks.example' })).toHaveLength(1);
    expect(load('', { host: '0.0.0.0', publicUrl: 'https://tasks.example/' }).config.publicUrl).toBe(
      'https://tasks.example',
    );
    expect(load('', { host: '::', insecureHttp: true }).config.host).toBe('::');
    for (const host of ['localhost', '127.0.0.9', '::1']) expect(load('', { host }).config.host).toBe(host);
  });
});

test('hosts and origins that no request could ever name are refused', () => {
  const hosts = ['https://tasks.example.com', '*.example.com', ''];
  const origins = ['https://app.example.com/', '*', 'https://App.example.com', 'https://app.example.com:443', 'app'];
  const lines = (values: readonly string[]): string => values.map((value) => JSON.stringify(value)).join(', ');
  expect(problemsOf(`allowedHosts: [${lines(hosts)}]`)).toHaveLength(hosts.length);
  expect(problemsOf(`allowedOrigins: [${lines(origins)}]`)).toHaveLength(origins.length);
  const { config } = load(`
allowedHosts: [tasks.example.com, 'tasks.example.com:8443', '[::1]']
allowedOrigins: ['http://localhost:3000', 'https://app.example.com', 'chrome-extension://abcdefgh']`);
  expect(config.allowedHosts).toHaveLength(3);
  expect(config.allowedOrigins).toHaveLength(3);
});

test('rates are counted by the minute', () => {
  const { config } = load('keys: { a: { rate: 30/min }, b: { rate: 2/s }, c: { rate: 120/h }, d: { rate: 60/h } }');
  expect(Object.values(config.keys).map(({ rate }) => rate)).toEqual([30, 120, 2, 1]);
  expect(() => load('keys: { a: { rate: 59/h } }')).toThrow(/keys\.a\.rate.*at least 60\/h/);
});

describe('what an agent says on its card', () => {
  test('is taken as it is, and media types and extensions are checked', () => {
    const echo = (more: string) => `agents: { echo: { connector: echo, ${more} } }\n`;
    expect(
      load(echo('inputModes: [text/plain, image/*], extensions: [{ uri: "urn:x", params: { a: [1] } }]')).config.agents,
    ).toMatchObject({
      echo: { inputModes: ['text/plain', 'image/*'], extensions: [{ uri: 'urn:x', params: { a: [1] } }] },
    });
    expect(load(echo('outputModes: ["*/*"]')).config.agents['echo']).toMatchObject({
      outputModes: ['*/*'],
      extensions: [],
    });
    for (const wrong of [
      'inputModes: []',
      'inputModes: [text]',
      'outputModes: ["a/b c"]',
      'extensions: [{}]',
      'extensions: [urn:x]',
    ])
      expect(problemsOf(echo(wrong)), wrong).toHaveLength(1);
  });
});
