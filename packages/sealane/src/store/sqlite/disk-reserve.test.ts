import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import { createDiskReserve } from './disk-reserve.ts';

const folder = mkdtempSync(join(tmpdir(), 'sealane-reserve-'));
afterAll(() => rmSync(folder, { recursive: true }));

const database = (name: string): string => {
  const file = join(folder, name);
  writeFileSync(file, name);
  return file;
};

describe('nothing new is taken into a database that would be gone at the end', () => {
  it.each([
    ['deleted', (file: string) => rmSync(file)],
    ['moved', (file: string) => renameSync(file, `${file}.moved`)],
    ['replaced', (file: string) => renameSync(database('other'), file)],
  ])('because its file was %s', (name, happen) => {
    const file = database(name);
    const reserve = createDiskReserve(file);
    happen(file);
    expect(reserve.refusalOf('admit')).toMatchObject({
      code: 'store-unwritable',
      message: expect.stringContaining(file),
    });
    // A copy would be one of another database.
    expect(() => reserve.requireInPlace()).toThrow('removed or replaced');
    // What was accepted goes on to its end.
    expect(reserve.refusalOf('finish')).toBeUndefined();
  });
});
