import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { watch } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { add, copyOf, kindsIn, newFile, openWriter } from './crashed-writer.fixture.ts';
import { openForReading, openForWriting, examineDatabase } from './sqlite-database.ts';

const LOGS = ['-wal', '.redo'] as const;

const OPENINGS = {
  'for writing': (file: string) => openForWriting({ file, synchronous: 'FULL' }, { now: 0 }).close(),
  'for reading': (file: string) => openForReading(file).close(),
  'to examine it': examineDatabase,
} as const;

const LOSSES = {
  missing: (file: string) => rmSync(file),
  empty: (file: string) => truncateSync(file),
} as const;

const CASES = Object.keys(OPENINGS).flatMap((opening) =>
  Object.keys(LOSSES).map((loss) => [loss, opening] as [keyof typeof LOSSES, keyof typeof OPENINGS]),
);

/** What a kill leaves of a database that has something in it and in its logs. */
const killed = (): string => {
  using opened = openWriter();
  opened.perform(add('committed'));
  opened.writer.flush();
  opened.perform(add('answered'));
  return copyOf(opened.file);
};

describe.each(CASES)(
  'a database that is %s, and its logs are not, is refused when it is opened %s',
  (loss, opening) => {
    const expectRefusal = (file: string, logs: readonly string[]): void => {
      const before = logs.map((log) => readFileSync(log));
      const size = statSync(file, { throwIfNoEntry: false })?.size;
      expect(() => OPENINGS[opening](file)).toThrow(
        expect.objectContaining({ code: 'store-damaged', message: expect.stringContaining(`${file} is ${loss}`) }),
      );
      expect(logs.map((log) => readFileSync(log).equals(before[logs.indexOf(log)]!))).toEqual(logs.map(() => true));
      expect(statSync(file, { throwIfNoEntry: false })?.size).toBe(size);
    };

    it('with both logs, and is whole when it is put back', () => {
      const file = killed();
      const bytes = readFileSync(file);
      LOSSES[loss](file);
      expectRefusal(
        file,
        LOGS.map((ending) => `${file}${ending}`),
      );
      writeFileSync(file, bytes);
      expect(kindsIn(file)).toEqual(['committed', 'answered']);
    });

    it.each(LOGS)('with its %s alone', (ending) => {
      const file = copyOf(killed(), ['', ending]);
      LOSSES[loss](file);
      expectRefusal(file, [`${file}${ending}`]);
    });
  },
);

it('a database that has its first page only, and a redo log, is refused, and the log is left as it was', () => {
  const file = copyOf(killed(), ['', '.redo']);
  const before = readFileSync(`${file}.redo`);
  expect(() => openForWriting({ file, synchronous: 'FULL' }, { now: 0 })).toThrow(/is empty, but .*\.redo/);
  expect(readFileSync(`${file}.redo`).equals(before)).toBe(true);
});

const FIRST_START = `
  import { openForWriting } from '#store/sqlite/sqlite-database';
  import { createSqliteWriter } from '#store/sqlite/sqlite-writer';
  const clock = { now: 0 };
  const options = { file: process.argv[1], synchronous: 'FULL' };
  createSqliteWriter(openForWriting(options, clock), options, clock);
  setInterval(() => undefined, 1000);`;

it.each(['', '-journal', '-wal', '.redo'])(
  'a first start that was killed when it had made its "%s" file keeps the next from nothing',
  async (ending) => {
    const file = newFile();
    const [folder, name] = [dirname(file), `${basename(file)}${ending}`];
    const events = watch(folder);
    const child = spawn(
      process.execPath,
      ['--conditions=sealane:source', '--input-type=module', '--eval', FIRST_START, file],
      { cwd: fileURLToPath(new URL('.', import.meta.url)), stdio: 'ignore' },
    );
    const ended = once(child, 'close');
    for await (const { filename } of events) if (filename === name) break;
    child.kill('SIGKILL');
    await ended;
    expect(existsSync(file)).toBe(true);
    expect(kindsIn(file)).toEqual([]);
  },
  20_000,
);
