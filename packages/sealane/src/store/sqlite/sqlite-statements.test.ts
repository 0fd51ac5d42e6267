import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';

import { MIGRATIONS } from '../schema.sql.ts';
import { READS, WRITES } from '../steps/index.ts';
import { createStepRunner, inSqlite } from './sqlite-database.ts';

/** A database that remembers what it was asked to prepare. */
class Listening extends DatabaseSync {
  readonly prepared: string[] = [];
  override prepare(text: string) {
    this.prepared.push(text);
    return super.prepare(text);
  }
}

describe('a statement', () => {
  it('is planned once: the planner does not look at a parameter that changes', () => {
    using database = new Listening(':memory:');
    database.function('now_ms', () => 0);
    for (const statement of MIGRATIONS.flat()) database.exec(inSqlite(statement));
    const run = createStepRunner(database);
    const nobody = { owner: 'o', tenant: '' };
    run(READS.list(nobody, { limit: 10, order: 'updated', withArtifacts: false }), new Set());
    run(READS.list('all', { limit: 10, order: 'inserted', withArtifacts: true }), new Set());
    run(READS.listAudit({ limit: 10 }), new Set());
    run(WRITES.expire(0, 10), new Set());
    const limited = database.prepared.filter((text) => /\bLIMIT\b/.test(text));
    expect(limited.length).toBeGreaterThan(4);
    expect(limited.filter((text) => /\bLIMIT \?/.test(text))).toEqual([]);
  });
});
