import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';

import type { NewEvent } from '#domain';

import { MIGRATIONS } from '../schema.sql.ts';
import { READS, WRITES } from '../steps/index.ts';
import * as lanes from '../steps/lanes.sql.ts';
import * as records from '../steps/records.sql.ts';
import type { Steps } from '../steps/step.ts';
import { SIZES } from '../steps/heads.sql.ts';
import type { Admission } from '../task-store.ts';
import { newFile } from './crashed-writer.fixture.ts';
import { inSqlite, openForWriting } from './sqlite-database.ts';
import type { Redone } from './redo-log.ts';
import { createStepRunner } from './step-runner.ts';

/** A database that remembers what it was asked to prepare. */
class Listening extends DatabaseSync {
  readonly prepared: string[] = [];
  override prepare(text: string) {
    this.prepared.push(text);
    return super.prepare(text);
  }
}

/** A message to the agent `a`, in a lane of its own. */
const admission = (id: string): Admission => ({
  id,
  contextId: id,
  owner: 'o',
  tenant: '',
  agent: 'a',
  dialect: '1.0',
  session: id,
  direct: false,
  message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: id }] },
  metadata: {},
  call: { permission: 'write' },
  at: 1,
  limits: { laneWaiting: 10_000, ownerWaiting: 0 },
});

const open = () => {
  const database = new Listening(':memory:');
  database.function('now_ms', () => 0);
  for (const statement of MIGRATIONS.flat()) database.exec(inSqlite(statement));
  const changed: Redone[] = [];
  const runner = createStepRunner(database, changed);
  return {
    database,
    /** What has changed something, each by its first words. */
    changes: () => changed.map(([text]) => text.trim().split(/\s+/, 3).join(' ')),
    run: <T>(steps: Steps<T>): T => runner(steps, new Set<string>()),
  };
};

describe('a statement', () => {
  it('is planned once: the planner does not look at a parameter that changes', () => {
    const { database, run } = open();
    using _ = database;
    const nobody = { owner: 'o', tenant: '' };
    run(READS.list(nobody, { limit: 10, order: 'updated', withArtifacts: false }));
    run(READS.list('all', { limit: 10, order: 'inserted', withArtifacts: true }));
    run(READS.listAudit({ limit: 10 }));
    run(WRITES.expire(0, 10));
    const limited = database.prepared.filter((text) => /\bLIMIT\b/.test(text));
    expect(limited.length).toBeGreaterThan(4);
    expect(limited.filter((text) => /\bLIMIT \?/.test(text))).toEqual([]);
  });

  it('is planned as if there were many tasks, whatever was counted when there were few', () => {
    const file = newFile();
    const options = { file, synchronous: 'OFF' } as const;
    const before = openForWriting(options, { now: 0 });
    before.exec(
      'INSERT INTO heads (task, seq, epoch, ended, cancel, tail, content, follows) VALUES (1, 1, 1, 1, 0, 0, 0, 0)',
    );
    before.exec('ANALYZE');
    before.close();
    using database = openForWriting(options, { now: 0 });
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${inSqlite(SIZES.text)}`).all();
    expect(plan.map((row) => row['detail'])).toEqual(['SEARCH heads USING INTEGER PRIMARY KEY (rowid=?)']);
  });

  it('that asks for turns looks at those that wait or run, and not at the heads of all the tasks there ever were', () => {
    const { database } = open();
    using _ = database;
    const asking = Object.values({ ...lanes, ...records }).filter(
      ({ text, locksOnly }) => !locksOnly && /^\s*SELECT\b/.test(text) && /\bheads\b/.test(text),
    );
    expect(asking.length).toBeGreaterThan(12);
    for (const { text } of asking) {
      const plan = database.prepare(`EXPLAIN QUERY PLAN ${inSqlite(text)}`).all();
      const all = plan.map((row) => String(row['detail'])).filter((detail) => /^SCAN heads(?! USING)/.test(detail));
      expect(all, text).toEqual([]);
    }
  });
});

describe('a turn', () => {
  it('of a short task is stored in eight statements', () => {
    const { database, run, changes } = open();
    using _ = database;
    const said: NewEvent = { kind: 'artifact-added', artifact: { artifactId: 'a', parts: [{ text: 'hi' }] } };
    const end: NewEvent = { kind: 'turn-ended', state: 'completed' };
    const admitted = run(WRITES.admit({ ...admission('short'), slot: { instance: 'me' } }));
    if (!admitted.ok || admitted.value.again) throw new Error('It was not admitted.');
    const { task, lane } = admitted.value;
    run(WRITES.finish({ taskId: 'short', task, lane, epoch: 1 }, [said, end], 2, true));
    expect(changes()).toEqual([
      'INSERT INTO lanes',
      'INSERT INTO tasks',
      'INSERT INTO heads',
      'INSERT INTO events',
      'UPDATE heads SET',
      'INSERT INTO events',
      'UPDATE tasks SET',
      'DELETE FROM lanes',
    ]);
  });

  it('is folded when it is over, so that the row of an ended task has its content', () => {
    const { database, run } = open();
    using _ = database;
    const foldedAfter = (id: string, ...texts: readonly string[]): unknown => {
      const admitted = run(WRITES.admit({ ...admission(id), slot: { instance: 'me' } }));
      if (!admitted.ok || admitted.value.again) throw new Error('It was not admitted.');
      const { task, lane } = admitted.value;
      const token = { taskId: id, task, lane, epoch: 1 };
      for (const text of texts) {
        const said: NewEvent = {
          kind: 'artifact-added',
          append: true,
          artifact: { artifactId: 'a', parts: [{ text }] },
        };
        run(WRITES.append(token, [said], 2));
      }
      run(WRITES.finish(token, [{ kind: 'turn-ended', state: 'completed' }], 3, true));
      return database
        .prepare('SELECT folded, tail, length(artifacts) AS artifacts FROM tasks JOIN heads ON task = k WHERE k = ?')
        .get(task);
    };
    const around = '[{"artifactId":"a","parts":[{"text":""}]}]'.length;
    expect(foldedAfter('short', 'x')).toEqual({ folded: 4, tail: 0, artifacts: around + 1 });
    expect(foldedAfter('long', 'x'.repeat(300_000), 'the end')).toEqual({
      folded: 5,
      tail: 0,
      artifacts: around + 300_007,
    });
  });
});
