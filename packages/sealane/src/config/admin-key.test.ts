import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { adminKeyFile, ensureAdminKey, findAdminKey } from './admin-key.ts';

let parent: string;
let folder: string;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'sealane-key-'));
  folder = join(parent, 'nested', 'data');
});
afterEach(() => rmSync(parent, { recursive: true }));

test('the first call makes folder and key for the user alone, later calls read the same key', async () => {
  expect(await findAdminKey(folder)).toBeUndefined();
  const key = await ensureAdminKey(folder);
  expect(key).toMatch(/^sl_[\w-]{32}$/);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(statSync(adminKeyFile(folder)).mode & 0o777).toBe(0o600);
  expect(await ensureAdminKey(folder)).toBe(key);
  expect(await findAdminKey(folder)).toBe(key);
  expect(readdirSync(folder)).toEqual(['admin.key']);
});

test('many calls at once, in several processes, all get one key', async () => {
  const script = `import { ensureAdminKey } from ${JSON.stringify(new URL('admin-key.ts', import.meta.url).href)};
    const keys = await Promise.all(Array.from({ length: 8 }, () => ensureAdminKey(${JSON.stringify(folder)})));
    console.log(keys.join('\\n'));`;
  const runs = Array.from({ length: 3 }, () =>
    spawn(process.execPath, ['--conditions=sealane:source', '--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  );
  const keys = (await Promise.all(runs.map(({ stdout }) => text(stdout)))).flatMap((output) =>
    output.trim().split('\n'),
  );
  expect(keys).toHaveLength(24);
  expect(new Set(keys)).toEqual(new Set([readFileSync(adminKeyFile(folder), 'utf8').trim()]));
});

test('a key that others can read is refused with what to type', async () => {
  await ensureAdminKey(folder);
  chmodSync(adminKeyFile(folder), 0o640);
  await expect(ensureAdminKey(folder)).rejects.toMatchObject({
    code: 'bad-config',
    message: expect.stringContaining(`chmod 600 ${adminKeyFile(folder)}`),
  });
});

test('an empty key is refused', async () => {
  await ensureAdminKey(folder);
  writeFileSync(adminKeyFile(folder), '\n');
  await expect(findAdminKey(folder)).rejects.toThrow(/is empty\. Delete it \(rm /);
});

test('a folder that cannot be made is refused with the way out', async () => {
  writeFileSync(join(parent, 'file'), '');
  await expect(ensureAdminKey(join(parent, 'file', 'data'))).rejects.toMatchObject({
    code: 'store-unwritable',
    message: expect.stringContaining('--data-dir'),
  });
});
