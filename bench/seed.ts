import { DatabaseSync } from 'node:sqlite';

/** The states that stored tasks have, with their share in percent. */
export const SHARES = { completed: 95, failed: 2, canceled: 2, 'input-required': 1 } as const;
export type SeededState = keyof typeof SHARES;

export interface Seed {
  readonly tasks: number;
  /** One real task of each state, made through the service: its rows are what every copy starts from. */
  readonly templates: Readonly<Record<SeededState, string>>;
  /** The newest task's time; the others are `SPACING_MS` apart before it. Recent, so that nothing expires. */
  readonly newest: Date;
}

/** A million tasks in about six hours. */
const SPACING_MS = 20;
/** Every second task is in this context; the others share contexts of 500 each, however many tasks there are. */
export const BIG_CONTEXT = 'bench-big';
export const contextName = (n: number): string => `bench-${n}`;
export const contextCount = (tasks: number): number => Math.max(1, Math.floor(tasks / 1000));

/** When the task in the middle got its status. */
export const middleOf = ({ newest, tasks }: Pick<Seed, 'newest' | 'tasks'>): Date =>
  new Date(newest.getTime() - (tasks / 2) * SPACING_MS);

/**
 * Fills a store with copies of real tasks, by SQL alone, while the service is stopped. It knows of the schema only that
 * `tasks` has the columns set below and that other tables point to it by a column `task`; all else is copied, so the
 * copies stay what the service itself would have written. Followers point to a task by another column and are not
 * copied: the real tasks have none. Answers some of the ids.
 */
export const seedStore = (file: string, seed: Seed): readonly string[] => {
  const db = new DatabaseSync(file);
  try {
    // Nothing here needs to survive a crash. The service switches back to its own settings when it starts.
    db.exec(
      'PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -200000; PRAGMA temp_store = MEMORY',
    );
    db.exec('BEGIN');
    // An index is built faster at the end, from sorted rows, than kept up to date row by row.
    const indexes = db
      .prepare(`SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND tbl_name = 'tasks'`)
      .all() as unknown as readonly { readonly name: string; readonly sql: string }[];
    for (const { name } of indexes) db.exec(`DROP INDEX "${name}"`);
    const { last } = db.prepare('SELECT max(k) AS last FROM tasks').get() as { readonly last: number };
    const numbers = numbersOf(db, seed, last);
    copyTasks(db, seed, numbers);
    for (const table of tablesOfTasks(db)) copyRows(db, table, numbers);
    for (const { sql } of indexes) db.exec(sql);
    db.exec('COMMIT; PRAGMA journal_mode = WAL');
    return sampleIds(db, last, seed.tasks);
  } finally {
    db.close();
  }
};

/** The copies: their number, key, and the key of the task that each is a copy of. */
const numbersOf = (db: DatabaseSync, { tasks, templates }: Seed, last: number): string => {
  const find = db.prepare('SELECT k FROM tasks WHERE id = ?');
  const keyOf = (state: SeededState): number => (find.get(templates[state]) as { readonly k: number }).k;
  let bound = 0;
  const cases = Object.entries(SHARES).map(([state, share]) => {
    bound += share;
    return `WHEN i % 100 < ${bound} THEN ${keyOf(state as SeededState)}`;
  });
  return `WITH RECURSIVE
    count(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM count WHERE i < ${tasks - 1}),
    numbers(i, k, template) AS (SELECT i, ${last + 1} + i, CASE ${cases.join(' ')} END FROM count)`;
};

const copyTasks = (db: DatabaseSync, { tasks, newest }: Seed, numbers: string): void => {
  const ms = `(${newest.getTime()} - (${tasks - 1} - i) * ${SPACING_MS})`;
  const time = `strftime('%Y-%m-%dT%H:%M:%S', ${ms} / 1000, 'unixepoch') || printf('.%03dZ', ${ms} % 1000)`;
  const values: Readonly<Record<string, string>> = {
    k: 'numbers.k',
    // A UUID of version 7: its first 48 bits are the time.
    id: `printf('%08x-%04x-7%03x-8000-%012x', ${ms} >> 16, ${ms} & 65535, i & 4095, i)`,
    context_id: `CASE WHEN i % 2 = 0 THEN '${BIG_CONTEXT}' ELSE 'bench-' || (i / 2 % ${contextCount(tasks)}) END`,
    status_timestamp: time,
    created_at: time,
    updated_at: time,
  };
  const columns = columnsOf(db, 'tasks');
  const missing = Object.keys(values).filter((column) => !columns.includes(column));
  if (missing.length > 0)
    throw new Error(`tasks has no column ${missing.join(', ')}: bench/seed.ts must follow the schema`);
  db.exec(`INSERT INTO tasks (${columns.join(', ')}) ${numbers}
    SELECT ${columns.map((column) => values[column] ?? `t.${column}`).join(', ')}
    FROM numbers CROSS JOIN tasks AS t ON t.k = numbers.template`);
};

const copyRows = (db: DatabaseSync, table: string, numbers: string): void => {
  const columns = columnsOf(db, table);
  db.exec(`INSERT INTO ${table} (${columns.join(', ')}) ${numbers}
    SELECT ${columns.map((column) => (column === 'task' ? 'numbers.k' : `t.${column}`)).join(', ')}
    FROM numbers CROSS JOIN ${table} AS t ON t.task = numbers.template`);
};

/** Tables that say something about a task: its head, its events, … */
const tablesOfTasks = (db: DatabaseSync): readonly string[] =>
  (
    db.prepare(`SELECT name FROM sqlite_master WHERE type = 'table'`).all() as unknown as readonly {
      readonly name: string;
    }[]
  )
    .map(({ name }) => name)
    .filter((name) => columnsOf(db, name).includes('task'));

const columnsOf = (db: DatabaseSync, table: string): readonly string[] =>
  (db.prepare(`PRAGMA table_info(${table})`).all() as unknown as readonly { readonly name: string }[]).map(
    ({ name }) => name,
  );

const SAMPLE_IDS = 5000;

const sampleIds = (db: DatabaseSync, last: number, tasks: number): readonly string[] => {
  const find = db.prepare('SELECT id FROM tasks WHERE k = ?');
  return Array.from({ length: SAMPLE_IDS }, (_, n) => {
    const { id } = find.get(last + 1 + Math.floor((n * tasks) / SAMPLE_IDS)) as { readonly id: string };
    return id;
  });
};
