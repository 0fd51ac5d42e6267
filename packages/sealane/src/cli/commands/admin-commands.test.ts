import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { startScriptedService, taskView, type Exchange } from '../cli-harness.fixture.ts';
import { setUpCommandLine } from '../command-line.fixture.ts';

const serviceWith = (answers: Readonly<Record<string, (exchange: Exchange) => void>>) =>
  startScriptedService((exchange) => {
    const answer = answers[`${exchange.method} ${exchange.path.split('?')[0]}`];
    if (answer) answer(exchange);
    else exchange.json({ error: { code: 'not-found', message: `Nothing at ${exchange.path}.` } }, 404);
  });

describe('sealane tasks', () => {
  test('list passes its filters on and prints a table, or the page as JSON', async () => {
    const page = { tasks: [taskView('t-1', 'input-required')], next: 'abc', total: 3 };
    await using service = await serviceWith({ 'GET /admin/tasks': ({ json }) => json(page) });
    using cli = setUpCommandLine(service);
    const { code, stdout, stderr } = await cli.run([
      'tasks',
      'list',
      '--agent',
      'echo',
      '--state',
      'working',
      '--context',
      'c-1',
      '--owner',
      'ann',
      '--limit',
      '5',
    ]);
    expect(code).toBe(0);
    expect(stdout.split('\n')[1]).toMatch(
      /^t-1 {3}input-required {2}echo {3}ann {4}2026-01-31T12:00:01\.000Z {2}hello there$/,
    );
    expect(stderr).toContain(
      '3 in all. More: sealane tasks list --limit 5 --agent echo --state working --owner ann --context c-1 --cursor abc',
    );
    expect(Object.fromEntries(new URLSearchParams(service.seen[0]?.path.split('?')[1]))).toEqual({
      agent: 'echo',
      state: 'working',
      owner: 'ann',
      limit: '5',
      contextId: 'c-1',
    });
    expect(JSON.parse((await cli.run(['--json', 'tasks'])).stdout)).toEqual(page);
  });

  test('list refuses a state that does not exist, with the one that was meant', async () => {
    using cli = setUpCommandLine();
    expect(await cli.run(['tasks', 'list', '--state', 'compleated'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Did you mean completed?'),
    });
    expect(await cli.run(['tasks', 'list', '--limit', '500'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('between 1 and 200'),
    });
  });

  test('show prints the task, with control characters taken out, and its events page by page', async () => {
    const event = (seq: number) => ({ seq, at: '2026-01-31T12:00:00.000Z', kind: 'status-reported', state: 'working' });
    await using service = await serviceWith({
      'GET /admin/tasks/t-1': ({ json }) => json(taskView('t-1', 'completed')),
      'GET /admin/tasks/t-1/events': ({ json, path }) => {
        const after = Number(new URLSearchParams(path.split('?')[1]).get('after'));
        json({ events: after === 0 ? Array.from({ length: 500 }, (_, index) => event(index + 1)) : [event(501)] });
      },
    });
    using cli = setUpCommandLine(service);
    const { code, stdout } = await cli.run(['tasks', 'show', 't-1', '--events']);
    expect(code).toBe(0);
    expect(stdout).toContain('The answer [2J is 42');
    expect(stdout.trim().split('\n').at(-1)).toMatch(/^501 .*status-reported/);
  });

  test('cancel and delete work on several tasks; an open task is not deleted', async () => {
    await using service = await serviceWith({
      'POST /admin/tasks/t-1/cancel': ({ json }) => json(taskView('t-1', 'canceled')),
      'POST /admin/tasks/t-2/cancel': ({ json }) => json(taskView('t-2', 'canceled')),
      'DELETE /admin/tasks/t-1': ({ json }) => json(undefined, 204),
      'DELETE /admin/tasks/t-3': ({ json }) =>
        json({ error: { code: 'conflict', message: 'Task t-3 is open: cancel it first.' } }, 409),
    });
    using cli = setUpCommandLine(service);
    expect(await cli.run(['tasks', 'cancel', 't-1', 't-2'])).toMatchObject({
      code: 0,
      stdout: 't-1  canceled\nt-2  canceled\n',
    });
    expect(await cli.run(['tasks', 'delete', 't-1'])).toMatchObject({ code: 0, stdout: 't-1  deleted\n' });
    expect(await cli.run(['tasks', 'delete', 't-3'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('cancel it first'),
    });
    expect(await cli.run(['tasks', 'delete', 't-4'])).toMatchObject({ code: 8 });
  });

  test('export writes a whole file or none', async () => {
    const lines = '{"task":1}\n{"task":2}\n';
    await using service = await serviceWith({
      'GET /admin/export': ({ response, path }) => {
        response.writeHead(200, { 'content-type': 'application/x-ndjson' });
        response.write(lines);
        setTimeout(() => (path.includes('owner=broken') ? response.destroy() : response.end()), 20);
      },
    });
    using cli = setUpCommandLine(service);
    expect(await cli.run(['tasks', 'export'])).toMatchObject({ code: 0, stdout: lines });
    expect(await cli.run(['export', '--jsonl', '--output', '-'])).toMatchObject({ code: 0, stdout: lines });
    const file = join(cli.home, 'out.jsonl');
    expect(await cli.run(['tasks', 'export', '--output', 'out.jsonl'])).toMatchObject({
      code: 0,
      stdout: '2 tasks written to out.jsonl\n',
    });
    expect(readFileSync(file, 'utf8')).toBe(lines);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await cli.run(['tasks', 'export', '--output', 'out.jsonl'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/exists already.*--force/s),
    });
    expect(await cli.run(['tasks', 'export', '--owner', 'broken', '--output', 'other.jsonl'])).toMatchObject({
      code: 6,
    });
    expect(existsSync(join(cli.home, 'other.jsonl'))).toBe(false);
  });
});

describe('sealane lanes', () => {
  test('list, pause and resume', async () => {
    const lane = {
      key: 'echo//ann/c',
      agent: 'echo',
      owner: 'ann',
      waiting: 2,
      running: 't-9',
      paused: true,
      since: '2026-01-31T12:00:00.000Z',
    };
    await using service = await serviceWith({
      'GET /admin/lanes': ({ json }) => json({ lanes: [lane], pausedAgents: ['writer'] }),
      'POST /admin/lanes/pause': ({ json, body }) => json({ paused: body.lane === 'echo//ann/c' }),
      'POST /admin/lanes/resume': ({ json, body }) => json({ paused: body.agent !== 'writer' }),
    });
    using cli = setUpCommandLine(service);
    expect((await cli.run(['lanes'])).stdout).toMatch(
      /^echo\/\/ann\/c {2}echo {3}ann {4}2 {8}t-9 {6}yes .*\n\nPaused agents: writer$/m,
    );
    expect(await cli.run(['lanes', 'pause', 'echo//ann/c'])).toMatchObject({
      code: 0,
      stdout: 'echo//ann/c: paused\n',
    });
    expect(await cli.run(['lanes', 'resume', '--agent', 'writer'])).toMatchObject({
      code: 0,
      stdout: 'agent writer: runs\n',
    });
    expect(await cli.run(['lanes', 'pause'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Name a lane, or an agent'),
    });
    expect(await cli.run(['lanes', 'pause', 'echo//ann/c', '--agent', 'echo'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /A lane and --agent are both given: keep one[^]*next: {2}sealane lanes pause --help/,
      ),
    });
  });
});

describe('sealane keys', () => {
  test('create sends what was asked and prints the key alone; list never shows one; revoke takes it back', async () => {
    const key = {
      id: 'k-1',
      name: 'hermes',
      owner: 'hermes',
      admin: false,
      agents: ['main'],
      permission: 'guarded',
      ratePerMinute: 30,
      createdAt: 'now',
      expiresAt: null,
      revokedAt: null,
    };
    await using service = await serviceWith({
      'POST /admin/keys': ({ json }) => json({ id: 'k-1', name: 'hermes', key: 'sl_secret' }, 201),
      'GET /admin/keys': ({ json }) => json({ keys: [key] }),
      'DELETE /admin/keys/hermes': ({ json }) => json(undefined, 204),
    });
    using cli = setUpCommandLine(service);
    const args = [
      'keys',
      'create',
      'hermes',
      '--agents',
      'main, other',
      '--permission',
      'guarded',
      '--rate',
      '30/min',
      '--expires',
      '2d',
    ];
    expect(await cli.run(args)).toMatchObject({
      code: 0,
      stdout: 'sl_secret\n',
      stderr: expect.stringContaining('sealane keys revoke hermes'),
    });
    expect(service.seen[0]?.body).toEqual({
      name: 'hermes',
      agents: ['main', 'other'],
      permission: 'guarded',
      ratePerMinute: 30,
      expiresInMs: 172_800_000,
    });
    expect((await cli.run(['keys'])).stdout).toMatch(/^hermes {2}hermes {2}- {6}main {4}guarded {5}30\/min/m);
    expect(await cli.run(['keys', 'revoke', 'hermes'])).toMatchObject({ code: 0, stdout: 'hermes  revoked\n' });
  });

  test('rotate-card says which key signs cards from now on, and forgets the former ones only when told', async () => {
    await using service = await serviceWith({ 'POST /admin/card-keys/rotate': ({ json }) => json({ kid: 'abc' }) });
    using cli = setUpCommandLine(service);
    expect(await cli.run(['keys', 'rotate-card'])).toMatchObject({ code: 0, stdout: 'abc  signs agent cards\n' });
    expect(await cli.run(['keys', 'rotate-card', '--forget-former'])).toMatchObject({ code: 0 });
    expect(service.seen.map(({ body }) => body)).toEqual([{}, { forgetFormer: true }]);
  });

  test.each([
    [['--rate', 'often'], /must be a rate like 30\/min/],
    [['--permission', 'root'], /must be read-only, guarded/],
    [['--expires', 'soon'], /must be a time like/],
  ])('create %j is refused', async (extra, told) => {
    using cli = setUpCommandLine();
    expect(await cli.run(['keys', 'create', 'x', ...extra])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(told),
    });
  });

  test('key prints the admin key of the data folder while nothing runs', async () => {
    using cli = setUpCommandLine();
    expect(await cli.run(['key'])).toMatchObject({ code: 8, stderr: expect.stringContaining('next:  sealane serve') });
    const folder = join(cli.home, '.sealane');
    mkdirSync(folder, { mode: 0o700 });
    writeFileSync(join(folder, 'admin.key'), 'sl_admin\n', { mode: 0o600 });
    expect(await cli.run(['key'])).toEqual({ code: 0, stdout: 'sl_admin\n', stderr: '' });
    expect(JSON.parse((await cli.run(['keys', 'show', '--json'])).stdout)).toEqual({
      key: 'sl_admin',
      file: join(folder, 'admin.key'),
    });
    expect(await cli.run(['key'], { env: { SEALANE_ADMIN_KEY: 'sl_env' } })).toMatchObject({ stdout: 'sl_env\n' });
  });
});

describe('sealane config', () => {
  test('check tells everything that is wrong, with lines; show tells sources', async () => {
    using cli = setUpCommandLine();
    const file = join(cli.home, 'my.yaml');
    writeFileSync(file, 'port: 8080\nadminKey: sl_hidden\n');
    expect(await cli.run(['config', 'check', '--config', 'my.yaml'])).toEqual({
      code: 0,
      stdout: `${file} is right.\n`,
      stderr: '',
    });
    const { stdout } = await cli.run(['config', 'show', '--config', 'my.yaml'], { env: { SEALANE_HOST: 'localhost' } });
    expect(stdout).toMatch(/^port +8080 +.*my\.yaml:1$/m);
    expect(stdout).toMatch(/^host +localhost +SEALANE_HOST$/m);
    expect(stdout).toMatch(/^adminKey +\(hidden\)/m);
    writeFileSync(file, 'prot: 8080\ntasks: { ttl: 1 }\n');
    const { code, stderr } = await cli.run(['config', 'check', '--config', 'my.yaml', '--json']);
    expect(code).toBe(2);
    expect(JSON.parse(stderr)).toMatchObject({
      error: { code: 'bad-config', message: expect.stringMatching(/2 problems:\n.*my\.yaml:\d.*\n.*my\.yaml:\d/) },
    });
  });

  test('schema is the JSON Schema of the file', async () => {
    using cli = setUpCommandLine();
    const schema = JSON.parse((await cli.run(['config', 'schema'])).stdout) as { properties: Record<string, unknown> };
    expect(schema.properties.port).toMatchObject({ type: 'integer', default: 7420, description: expect.any(String) });
  });
});
