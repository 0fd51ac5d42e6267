import { mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { watchConfig } from './watch-config.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sealane-watch-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Starts watching; `change` does something to the file and resolves with how often the watcher called. */
const watching = (file: string) => {
  let resolve: () => void = () => {};
  let calls = 0;
  const watcher = watchConfig(
    file,
    () => {
      calls += 1;
      resolve();
    },
    { intervalMs: 20 },
  );
  const change = async (act: () => void): Promise<number> => {
    const called = new Promise<void>((done) => {
      resolve = done;
    });
    calls = 0;
    act();
    await called;
    return calls;
  };
  return { change, [Symbol.dispose]: () => watcher[Symbol.dispose]() };
};

test('a file that is written, replaced, removed and made again is noticed each time', async () => {
  const file = join(folder, 'sealane.yaml');
  writeFileSync(file, 'port: 1\n');
  using watcher = watching(file);
  expect(await watcher.change(() => writeFileSync(file, 'port: 22\n'))).toBe(1);
  const replace = () => {
    writeFileSync(join(folder, 'draft'), 'port: 333\n');
    renameSync(join(folder, 'draft'), file);
  };
  expect(await watcher.change(replace)).toBe(1);
  expect(await watcher.change(() => rmSync(file))).toBe(1);
  expect(await watcher.change(() => writeFileSync(file, 'port: 4444\n'))).toBe(1);
});

test('a link that is swapped under the file is noticed', async () => {
  writeFileSync(join(folder, 'one'), 'a');
  writeFileSync(join(folder, 'two'), 'bb');
  symlinkSync(join(folder, 'one'), join(folder, 'current'));
  symlinkSync(join(folder, 'current'), join(folder, 'sealane.yaml'));
  using watcher = watching(join(folder, 'sealane.yaml'));
  const swap = () => {
    symlinkSync(join(folder, 'two'), join(folder, 'next'));
    renameSync(join(folder, 'next'), join(folder, 'current'));
  };
  expect(await watcher.change(swap)).toBe(1);
});

test('other files of the folder do not wake it', async () => {
  const file = join(folder, 'sealane.yaml');
  writeFileSync(file, 'port: 1\n');
  using watcher = watching(file);
  const calls = await watcher.change(() => {
    for (let i = 0; i < 100; i += 1) writeFileSync(join(folder, 'sealane.db-wal'), String(i));
    writeFileSync(file, 'port: 22\n');
  });
  expect(calls).toBe(1);
});
