import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { expect, onTestFinished, test } from 'vitest';

const HOST = fileURLToPath(new URL('crowded-host.fixture.ts', import.meta.url));

const freshDirectory = (): string => {
  const directory = mkdtempSync(join(tmpdir(), 'sealane-streams-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
};

/** The ends of turns with 0, 1, … `most` free descriptors. */
const endsWith = async (most: number, directory: string): Promise<readonly { state: string; text: string }[]> => {
  const words = ['-c', 'ulimit -n 256; exec "$@"', 'sh', process.execPath, '--conditions=sealane:source', HOST];
  const { stdout } = await promisify(execFile)('sh', [...words, String(most)], {
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    env: { ...process.env, TMPDIR: directory },
    // It ends its programs by itself when it is killed.
    timeout: 50_000,
  });
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { state: string; text: string });
};

test('where no descriptors are left, a turn fails at once, may be tried again, and leaves nothing behind', async () => {
  const directory = freshDirectory();
  const ends = await endsWith(24, directory);
  expect(ends).toHaveLength(25);
  expect(ends.at(-1)).toMatchObject({ state: 'completed' });
  const failed = ends.filter(({ state }) => state === 'failed');
  expect(failed.length).toBeGreaterThanOrEqual(7);
  for (const end of failed) expect(end).toMatchObject({ retryable: true, text: expect.stringContaining('no room') });
  expect(readdirSync(directory)).toEqual([]);
});

test('a temporary directory whose path is too long for a socket is named, with what to do', async () => {
  const directory = join(freshDirectory(), 'd'.repeat(100));
  mkdirSync(directory);
  const [end] = await endsWith(0, directory);
  expect(end).toMatchObject({ state: 'failed', text: expect.stringContaining('Set TMPDIR') });
});
