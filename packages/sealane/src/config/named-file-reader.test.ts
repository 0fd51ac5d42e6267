import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { createNamedFileReader } from './named-file-reader.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sealane-named-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

test('a file is read as often as it is asked for', () => {
  const file = join(folder, 'file');
  const { read, readAgain } = createNamedFileReader();
  writeFileSync(file, 'one');
  expect(read(file)).toBe('one');
  writeFileSync(file, 'two');
  expect(read(file)).toBe('two');
  expect(readAgain(file)).toBe('two');
});

test.runIf(process.platform !== 'win32')(
  'a pipe is read once, at the first time, and a file that takes its place is read',
  () => {
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const { read, readAgain } = createNamedFileReader();
    expect(() => readAgain(pipe)).toThrow('pipe is a pipe');
    spawn('sh', ['-c', 'echo once > "$0"', pipe]);
    expect(read(pipe)).toBe('once\n');
    expect(read(pipe)).toBe('once\n');
    expect(readAgain(pipe)).toBe('once\n');
    rmSync(pipe);
    writeFileSync(pipe, 'a file');
    expect(readAgain(pipe)).toBe('a file');
  },
);
