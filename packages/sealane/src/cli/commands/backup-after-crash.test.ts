import { randomUUID } from 'node:crypto';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { expect, test } from 'vitest';

import { type CliSetup, setUpCli, startService } from '../cli-harness.fixture.ts';

const ADMIN_KEY = 'the-admin-key-of-this-test';
const OFFLINE = { env: { SEALANE_PORT: '1' } };
const FIRST = 'sent before';
const TRIES = 20;

interface Task {
  readonly id: string;
  readonly status: { readonly state: string };
}

const send = async (url: string, text: string): Promise<Task> => {
  const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }] };
  const response = await fetch(`${url}/a2a`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }),
  });
  const { result } = (await response.json()) as { readonly result: { readonly task: Task } };
  return result.task;
};

/** The state of each task that a database has by itself, its redo log left out. */
const statesIn = (file: string): Readonly<Record<string, string>> => {
  const folder = mkdtempSync(join(tmpdir(), 'sealane-look-'));
  try {
    const copy = join(folder, 'copy.db');
    for (const ending of ['', '-wal']) if (existsSync(file + ending)) copyFileSync(file + ending, copy + ending);
    using database = new DatabaseSync(copy);
    const rows = database.prepare('SELECT id, status_state FROM tasks').all();
    return Object.fromEntries(rows.map(({ id, status_state: state }) => [String(id), String(state)]));
  } finally {
    rmSync(folder, { recursive: true });
  }
};

/** A service that was killed right after an answer which only its redo log has. */
const crashed = async (cli: CliSetup): Promise<{ readonly database: string; readonly told: readonly Task[] }> => {
  const database = join(cli.home, '.sealane', 'sealane.db');
  const told: Task[] = [];
  for (let tried = 0; tried < TRIES; tried += 1) {
    const service = await startService(cli, ['--admin-key', ADMIN_KEY]);
    told.push(await send(service.url, FIRST));
    const last = await send(service.url, 'sent in the last moment');
    service.child.kill('SIGKILL');
    await service.done;
    told.push(last);
    expect(told.map(({ status }) => status.state)).toEqual(told.map(() => 'TASK_STATE_COMPLETED'));
    if (statesIn(database)[last.id] !== 'completed') return { database, told };
  }
  throw new Error(`In ${TRIES} tries the last answer was in the database already.`);
};

const statesOf = (told: readonly Task[]): Readonly<Record<string, string>> =>
  Object.fromEntries(told.map(({ id }) => [id, 'completed']));
const expectAll = (file: string, told: readonly Task[]): void => expect(statesIn(file)).toEqual(statesOf(told));

test('a backup after a crash has what was answered in the last moment, and leaves the database as it was', async () => {
  using cli = setUpCli();
  const { database, told } = await crashed(cli);
  const before = statesIn(database);
  expect(await cli.run(['backup', 'copy.db'], OFFLINE)).toMatchObject({
    code: 0,
    stdout: `${told.length} tasks copied to copy.db, and the copy checked\n`,
  });
  expectAll(join(cli.home, 'copy.db'), told);
  expect(readdirSync(cli.home).filter((name) => name.startsWith('copy'))).toEqual(['copy.db']);
  expect(statesIn(database)).toEqual(before);
  // The same again, from what is still there.
  expect(await cli.run(['backup', 'again.db'], OFFLINE)).toMatchObject({ code: 0 });
  expectAll(join(cli.home, 'again.db'), told);
  // And the service finds it all, too.
  const service = await startService(cli, ['--admin-key', ADMIN_KEY]);
  service.child.kill('SIGTERM');
  await service.done;
  expectAll(database, told);
});

test('a restore keeps what was answered in the last moment in the database that it sets aside', async () => {
  using cli = setUpCli();
  using other = setUpCli();
  const older = await startService(other, ['--admin-key', ADMIN_KEY]);
  const restored = await send(older.url, 'another life');
  const asAdmin = { env: { SEALANE_API_KEY: ADMIN_KEY } };
  expect(await other.run(['backup', 'older.db', '--url', older.url], asAdmin)).toMatchObject({ code: 0 });
  older.child.kill('SIGTERM');
  await older.done;

  const { database, told } = await crashed(cli);
  const { code, stdout } = await cli.run(['restore', join(other.home, 'older.db'), '--json'], OFFLINE);
  expect(code).toBe(0);
  const { kept } = JSON.parse(stdout) as { readonly kept: string };
  expectAll(kept, told);
  expectAll(database, [restored]);
  expect(existsSync(`${database}.redo`)).toBe(false);
  const service = await startService(cli, ['--admin-key', ADMIN_KEY]);
  service.child.kill('SIGTERM');
  await service.done;
  expectAll(database, [restored]);
});

test('a redo log that was left behind never touches a restored database', async () => {
  using cli = setUpCli();
  const { database, told } = await crashed(cli);
  const log = join(cli.home, 'left-behind');
  copyFileSync(`${database}.redo`, log);
  expect(await cli.run(['backup', 'copy.db'], OFFLINE)).toMatchObject({ code: 0 });
  expect(await cli.run(['restore', 'copy.db'], OFFLINE)).toMatchObject({ code: 0 });
  copyFileSync(log, `${database}.redo`);
  // Not by a backup of it, nor by a start.
  expect(await cli.run(['backup', 'second.db'], OFFLINE)).toMatchObject({ code: 0 });
  expectAll(join(cli.home, 'second.db'), told);
  const service = await startService(cli, ['--admin-key', ADMIN_KEY]);
  service.child.kill('SIGTERM');
  await service.done;
  expectAll(database, told);
});

/** Restores a copy of all files of a crashed service. */
const rescue = async () => {
  using cli = setUpCli();
  using other = setUpCli();
  const { database, told } = await crashed(cli);
  const rescued = join(other.home, 'rescued');
  cpSync(dirname(database), rescued, { recursive: true });
  const { code, stdout } = await other.run(['restore', join(rescued, 'sealane.db'), '--json'], OFFLINE);
  expect(code).toBe(0);
  const { tasks, file } = JSON.parse(stdout) as { readonly tasks: number; readonly file: string };
  return { tasks, told, states: statesIn(file) };
};

test('the files of a crashed service can be restored from another folder, its redo log included', async () => {
  const { states, told } = await rescue();
  expect(states).toEqual(statesOf(told));
});

test('a restore tells how many tasks it has restored, also those of the redo log', async () => {
  const { tasks, told } = await rescue();
  expect(tasks).toBe(told.length);
});

test('a restore into a folder that has a redo log and no database sets nothing aside', async () => {
  using cli = setUpCli();
  const { database } = await crashed(cli);
  expect(await cli.run(['backup', 'copy.db'], OFFLINE)).toMatchObject({ code: 0 });
  for (const ending of ['', '-wal', '-shm']) rmSync(`${database}${ending}`, { force: true });
  const { code, stdout } = await cli.run(['restore', 'copy.db', '--json'], OFFLINE);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ kept: null });
});

const LOGS = ['-wal', '.redo'] as const;
const bytesOf = (database: string): readonly string[] =>
  LOGS.map((ending) => readFileSync(`${database}${ending}`).toString('base64'));

test.each([
  ['missing', (file: string) => rmSync(file)],
  ['empty', (file: string) => truncateSync(file)],
] as const)(
  'neither doctor nor backup touches the logs of a database that is %s, and both say so',
  async (words, lose) => {
    using cli = setUpCli();
    const { database } = await crashed(cli);
    const before = bytesOf(database);
    lose(database);
    const found = `The database ${database} is ${words}, but`;
    expect((await cli.run(['doctor'], OFFLINE)).stdout).toMatch(new RegExp(`✗ database +${found}.*`));
    expect(await cli.run(['backup', 'copy.db'], OFFLINE)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(found),
    });
    expect(bytesOf(database)).toEqual(before);
  },
);

test.each([
  ['missing', (file: string) => rmSync(file)],
  ['empty', (file: string) => truncateSync(file)],
] as const)(
  'a restore in place of a database that is %s sets its logs aside, and has nothing of them',
  async (_words, lose) => {
    using cli = setUpCli();
    using other = setUpCli();
    const older = await startService(other, ['--admin-key', ADMIN_KEY]);
    const restored = await send(older.url, 'another life');
    older.child.kill('SIGTERM');
    await older.done;
    const { database } = await crashed(cli);
    const before = bytesOf(database);
    lose(database);
    const { code, stderr } = await cli.run(['restore', join(other.home, '.sealane', 'sealane.db')], OFFLINE);
    expect(code).toBe(0);
    const aside = /is now (\S+)-wal and \S+\.redo/.exec(stderr)?.[1];
    expect(bytesOf(aside ?? 'nowhere')).toEqual(before);
    const service = await startService(cli, ['--admin-key', ADMIN_KEY]);
    service.child.kill('SIGTERM');
    await service.done;
    expectAll(database, [restored]);
  },
);
