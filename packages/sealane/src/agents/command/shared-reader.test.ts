import { expect, test } from 'vitest';

import type { ProcessReader, ProcessTable } from './process-table.ts';
import { createProcessTree, systemReader } from './process-tree.ts';
import { shareTables } from './shared-reader.ts';

/** A reader that counts its tables. */
const counted = (reader: ProcessReader) => {
  let tables = 0;
  const read = (): Promise<ProcessTable> => {
    tables += 1;
    return reader.read();
  };
  return { reader: { ...reader, read }, tables: () => tables };
};

test('trees that end together share their tables', async () => {
  const { reader, tables } = counted(systemReader());
  const shared = shareTables(reader);
  const since = await reader.now();
  const trees = Array.from({ length: 40 }, (_, n) =>
    createProcessTree({ token: `shared${n}`, since, sockets: [] }, shared),
  );
  expect(await Promise.all(trees.map((tree) => tree.end({ graceMs: 0 })))).not.toContain(false);
  expect(tables()).toBeLessThan(trees.length);
});

test('who asks while a table is being read gets the next one, also when that read fails', async () => {
  const reads: PromiseWithResolvers<ProcessTable>[] = [];
  const read = (): Promise<ProcessTable> => {
    const one = Promise.withResolvers<ProcessTable>();
    reads.push(one);
    return one.promise;
  };
  const shared = shareTables({ ...systemReader(), read });
  const table = (): ProcessTable => ({ rows: new Map(), zombies: [], isBlurred: false });
  const [early, late] = [table(), table()];
  const first = shared.read();
  await expect.poll(() => reads.length).toBe(1);
  const asked = [shared.read(), shared.read()];
  reads[0]?.resolve(early);
  expect(await first).toBe(early);
  await expect.poll(() => reads.length).toBe(2);
  const behind = shared.read();
  reads[1]?.reject(new Error('no descriptor is left'));
  await expect(Promise.all(asked)).rejects.toThrow('no descriptor is left');
  await expect.poll(() => reads.length).toBe(3);
  reads[2]?.resolve(late);
  expect(await behind).toBe(late);
});
