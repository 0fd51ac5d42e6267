import { createHash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { mountDisk } from './support/mounted-disk.ts';
import { createOtherUser, type OtherUser } from './support/other-user.ts';
import { type Ended, freshFolder, serve, serveInVain } from './support/served-process.ts';

const DATABASE = 'sealane.db';

/** A data folder in which a service has worked, and what it has accepted. */
const usedFolder = async () => {
  const folder = freshFolder();
  await using service = await serve(folder.path);
  const task = await service.client.send('remember me');
  for (let count = 0; count < 30; count += 1) await service.client.send('@big 5000');
  expect(await service.stop()).toBe(0);
  return { ...folder, file: join(folder.path, DATABASE), task };
};

const digestOf = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex');

/** Every failure to start says what happened and what to type next, on stderr, and nothing else. */
const expectFailure = (
  { code, stdout, stderr }: Ended,
  exitCode: number,
  ...words: readonly (string | RegExp)[]
): void => {
  expect({ code, stdout }).toEqual({ code: exitCode, stdout: '' });
  expect(stderr).toMatch(/^error: /);
  expect(stderr).not.toMatch(/\n\s+at /);
  for (const word of words) expect(stderr).toMatch(word);
};

describe('a service does not start, and says what to do,', () => {
  /** Only if we are root: file modes do not stop root. */
  let other: OtherUser | undefined;
  beforeAll(() => {
    if (process.getuid?.() === 0) other = createOtherUser();
  });
  afterAll(() => other?.[Symbol.dispose]());

  it('when a file is in the place of its data folder', async () => {
    using folder = freshFolder();
    const file = join(folder.path, 'file');
    writeFileSync(file, 'not a folder');
    expectFailure(await serveInVain(file), 1, `${file} cannot be made: there is a file of that name`, '--data-dir');
    expectFailure(await serveInVain(join(file, 'a', 'b')), 1, `${file} cannot be made`, '--data-dir');
    expect(readFileSync(file, 'utf8')).toBe('not a folder');
  });

  it('when its data folder is a link to a disk that is not there', async () => {
    using folder = freshFolder();
    const link = join(folder.path, 'link');
    symlinkSync(join(folder.path, 'disk'), link);
    expectFailure(await serveInVain(join(link, 'data')), 1, `${link} cannot be made: it is a link`, '--data-dir');
  });

  it.runIf(process.platform === 'linux')('when its data folder would be where the system takes none', async () => {
    expectFailure(await serveInVain('/proc/sealane/data'), 1, '/proc/sealane cannot be made', '--data-dir');
  });

  it('when its data folder would be on a disk that can only be read', async (context) => {
    using folder = freshFolder();
    using disk = mountDisk(folder.path, 'ro');
    if (!disk) return context.skip('only the superuser can mount a disk');
    const data = join(folder.path, 'sealane', 'data');
    expectFailure(await serveInVain(data), 1, `${folder.path} is on a disk that can only be read`, '--data-dir');
  });

  it('when it may not write its data folder', async () => {
    using folder = freshFolder();
    const data = join(folder.path, 'data');
    mkdirSync(data);
    chmodSync(folder.path, 0o755);
    chmodSync(data, 0o555);
    expectFailure(await serveInVain(data, { as: other }), 1, data, '--data-dir');
  });

  it('when it may only read the file that is its lock, which would keep no other service out', async () => {
    using folder = freshFolder();
    const lock = join(folder.path, `${DATABASE}.lock`);
    writeFileSync(lock, '');
    chmodSync(lock, 0o444);
    if (other) chownSync(folder.path, other.uid, other.uid);
    expectFailure(await serveInVain(folder.path, { as: other }), 1, lock, 'writable', '--data-dir');
  });

  it('when another process has the data folder, whose number it tells', async () => {
    using folder = freshFolder();
    await using first = await serve(folder.path);
    expectFailure(await serveInVain(folder.path), 1, 'in use', String(first.pid), '--data-dir');
    expect((await first.client.send('undisturbed')).status.state).toBe('TASK_STATE_COMPLETED');
  });

  it('when the data was written by a newer version, which it leaves as it is', async () => {
    using used = await usedFolder();
    const database = new DatabaseSync(used.file);
    database.exec('PRAGMA user_version = 999');
    database.close();
    const before = digestOf(used.file);
    expectFailure(await serveInVain(used.path), 1, 'newer', '999', '--data-dir');
    expect(digestOf(used.file)).toBe(before);
  });

  it('when its database is no database', async () => {
    using folder = freshFolder();
    const file = join(folder.path, DATABASE);
    writeFileSync(file, 'This is a letter to my grandmother.\n'.repeat(200));
    const before = digestOf(file);
    expectFailure(await serveInVain(folder.path), 1, file, 'damaged', 'restore', '--data-dir');
    expect(digestOf(file)).toBe(before);
  });

  it('when its database belongs to another program', async () => {
    using folder = freshFolder();
    const file = join(folder.path, DATABASE);
    const database = new DatabaseSync(file);
    database.exec('CREATE TABLE recipes (name TEXT)');
    database.close();
    expectFailure(await serveInVain(folder.path), 1, file, 'another program', '--data-dir');
    const after = new DatabaseSync(file);
    expect(after.prepare('SELECT name FROM sqlite_master').all()).toEqual([{ name: 'recipes' }]);
    after.close();
  });

  it('when bytes of its database were overwritten', async () => {
    using used = await usedFolder();
    const { size } = statSync(used.file);
    const file = openSync(used.file, 'r+');
    for (let at = 8192; at < size; at += 16_384) writeSync(file, Buffer.alloc(4096, 0xa5), 0, 4096, at);
    expectFailure(await serveInVain(used.path), 1, used.file, 'damaged', 'restore', '--data-dir');
  });

  it('when its configuration is wrong, and names the line', async () => {
    using folder = freshFolder();
    expectFailure(
      await serveInVain(folder.path, { config: 'agents:\n  main: { connector: ecko }\n' }),
      2,
      'sealane.yaml',
      'echo',
    );
  });
});

it('what was accepted is there after a restart, with the same words and numbers', async () => {
  using used = await usedFolder();
  await using service = await serve(used.path);
  expect(await service.client.get(used.task.id)).toEqual(used.task);
  expect((await service.client.list()).totalSize).toBe(31);
});

/** A data folder whose service was killed. */
const killFolder = async () => {
  const used = await usedFolder();
  await using service = await serve(used.path);
  await service.client.send('perhaps in the redo log only');
  await service.kill();
  return used;
};

/** A record that is whole and comes next, with a statement that nobody can execute. */
const impossibleRecord = (file: string): Buffer => {
  using database = new DatabaseSync(file, { readOnly: true });
  const applied = Number(database.prepare('SELECT applied FROM redo').get()?.['applied']);
  const text = JSON.stringify([0, [['INSERT INTO nowhere VALUES (?)', [1]]]]);
  const record = Buffer.alloc(16 + text.length);
  record.writeUInt32LE(text.length, 0);
  record.writeUIntLE(applied + 1, 8, 6);
  record.write(text, 16);
  record.writeUInt32LE(crc32(record.subarray(8)), 4);
  return record;
};

describe('with a damaged redo log a service', () => {
  let original: Awaited<ReturnType<typeof killFolder>> | undefined;
  beforeAll(async () => {
    original = await killFolder();
  });
  afterAll(() => original?.[Symbol.dispose]());
  /** A copy of it: what it had accepted long before, and its redo log. */
  const killedFolder = () => {
    if (!original) throw new Error('No service was killed.');
    const folder = freshFolder();
    cpSync(original.path, folder.path, { recursive: true });
    const file = join(folder.path, DATABASE);
    const redo = `${file}.redo`;
    return { ...folder, file, redo, bytes: readFileSync(redo), task: original.task };
  };
  const flippedHeader = (bytes: Buffer): Buffer => {
    const flipped = Buffer.from(bytes);
    flipped.writeUInt8(flipped.readUInt8(20) ^ 1, 20);
    return flipped;
  };
  const DAMAGES = {
    'no bytes at all': (redo: string) => truncateSync(redo, 0),
    'half a header': (redo: string) => truncateSync(redo, 100),
    'half a record': (redo: string) => truncateSync(redo, 560),
    'a flipped bit in its header': (redo: string, bytes: Buffer) => writeFileSync(redo, flippedHeader(bytes)),
    'a letter in its place': (redo: string) => writeFileSync(redo, 'Dear grandmother,\n'.repeat(1000)),
  } as const;

  it.each(Object.entries(DAMAGES))('starts, and has what was in the database (%s)', async (_name, damage) => {
    using killed = killedFolder();
    damage(killed.redo, killed.bytes);
    await using service = await serve(killed.path);
    expect(await service.client.get(killed.task.id)).toEqual(killed.task);
    expect((await service.client.send('and goes on')).status.state).toBe('TASK_STATE_COMPLETED');
    await service.kill();
    await using again = await serve(killed.path);
    expect(await again.client.get(killed.task.id)).toEqual(killed.task);
  });

  it('keeps it beside the new one, and says so', async () => {
    using killed = killedFolder();
    DAMAGES['a flipped bit in its header'](killed.redo, killed.bytes);
    await using service = await serve(killed.path);
    const isKept = readdirSync(killed.path).some(
      (name) => name !== `${DATABASE}.redo` && name.startsWith(`${DATABASE}.redo`),
    );
    expect(isKept).toBe(true);
    expect(service.log()).toMatch(/redo could not be read.*is kept as/);
  });

  it('does not start when a folder is in its place, and says what to do', async () => {
    using killed = killedFolder();
    rmSync(killed.redo);
    mkdirSync(killed.redo);
    expectFailure(await serveInVain(killed.path), 1, killed.redo, /restore|--data-dir/);
  });

  it('does not start when it cannot be executed, says what to do, and changes nothing', async () => {
    using killed = killedFolder();
    writeFileSync(killed.redo, Buffer.concat([killed.bytes.subarray(0, 512), impossibleRecord(killed.file)]));
    const before = digestOf(killed.redo);
    expectFailure(await serveInVain(killed.path), 1, 'nowhere', killed.redo, 'restore', '--data-dir');
    expect(digestOf(killed.redo)).toBe(before);
    // Whoever takes it away has everything but the last moment.
    rmSync(killed.redo);
    await using service = await serve(killed.path);
    expect(await service.client.get(killed.task.id)).toEqual(killed.task);
  });
});

/** Ways to lose a database and not its logs. */
const LOSSES = {
  'is missing': (file: string) => rmSync(file),
  'is empty': (file: string) => truncateSync(file),
} as const;

it.each(Object.entries(LOSSES))(
  'a service whose database %s does not begin anew in its place, which would destroy its logs',
  async (words, lose) => {
    using killed = await killFolder();
    const database = readFileSync(killed.file);
    const logs = [`${killed.file}-wal`, `${killed.file}.redo`];
    const before = logs.map(digestOf);
    lose(killed.file);
    expectFailure(await serveInVain(killed.path), 1, words, ...logs, 'restore', '--data-dir');
    expect(logs.map(digestOf)).toEqual(before);
    writeFileSync(killed.file, database);
    await using service = await serve(killed.path);
    expect((await service.client.list()).totalSize).toBe(32);
  },
);

const modesIn = (folder: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    ['', '-wal', '-shm', '.redo'].map((ending) => [
      ending,
      (statSync(join(folder, `${DATABASE}${ending}`)).mode & 0o777).toString(8),
    ]),
  );

it('nobody else can read what a service writes, also in a folder that all may look into', async () => {
  using folder = freshFolder();
  chmodSync(folder.path, 0o755);
  await using service = await serve(folder.path);
  await service.client.send('a secret');
  expect(modesIn(folder.path)).toEqual({ '': '600', '-wal': '600', '-shm': '600', '.redo': '600' });
});

it('a database that others were allowed to read stays so', async () => {
  using used = await usedFolder();
  chmodSync(used.file, 0o640);
  await using service = await serve(used.path);
  expect(modesIn(used.path)).toMatchObject({ '': '640', '-wal': '640' });
  await service.client.send('and goes on');
});
