import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach } from 'vitest';

import { all, sql, type Steps } from '../steps/step.ts';
import { openForWriting } from './sqlite-database.ts';
import { createSqliteWriter } from './sqlite-writer.ts';

const ADD = sql(`INSERT INTO audit (at, kind, actor, subject, facts) VALUES (now_ms(), ?, '', '', ?)`);
const KINDS = sql<{ kind: string }>(`SELECT kind FROM audit ORDER BY k`);

/** One row that can be told by its kind. */
export function* add(kind: string, facts = ''): Steps<void> {
  yield* all(ADD, kind, facts);
}
function* kinds(): Steps<readonly string[]> {
  return (yield* all(KINDS)).map(({ kind }) => kind);
}

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** A database that nobody has made yet; gone after the test. */
export const newFile = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'sealane-writer-'));
  folders.push(folder);
  return join(folder, 'sealane.db');
};

export const openWriter = (file = newFile()) => {
  const clock = { now: 0 };
  const options = { file, synchronous: 'FULL' } as const;
  const database = openForWriting(options, clock);
  const writer = createSqliteWriter(database, options, clock);
  const perform = <T>(steps: Steps<T>): T => writer.perform((run) => run(steps), new Set());
  return {
    file,
    database,
    writer,
    perform,
    add: (kind: string, facts?: string) => perform(add(kind, facts)),
    kinds: () => writer.look((run) => run(kinds())),
    [Symbol.dispose]: () => {
      try {
        writer.close();
      } catch {
        // It was broken on purpose.
      }
      if (database.isOpen) database.close();
    },
  };
};

/** The files as a kill leaves them at this very moment. */
export const copyOf = (file: string, endings: readonly string[] = ['', '-wal', '.redo']): string => {
  const copy = newFile();
  for (const ending of endings)
    if (existsSync(`${file}${ending}`)) copyFileSync(`${file}${ending}`, `${copy}${ending}`);
  return copy;
};

/** What a service finds that starts after it. */
export const kindsIn = (file: string): readonly string[] => {
  using opened = openWriter(file);
  return opened.kinds();
};
