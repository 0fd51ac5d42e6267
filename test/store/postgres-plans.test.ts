import { describe, expect, it } from 'vitest';

import { inPostgres } from '../../packages/sealane/src/store/postgres/dialect.ts';
import { ORPHANS, READY_LANES } from '../../packages/sealane/src/store/steps/lanes.sql.ts';
import { DUE, DUE_OF, OWE } from '../../packages/sealane/src/store/steps/outbox.sql.ts';
import { list } from '../../packages/sealane/src/store/steps/list.ts';
import { COUNT_TURNS, ENDED_BEFORE } from '../../packages/sealane/src/store/steps/records.sql.ts';
import type { Statement } from '../../packages/sealane/src/store/steps/step.ts';
import type { State } from '../../packages/sealane/src/domain/index.ts';

import { freshSchema } from '../support/fresh-schema.ts';
import { connectBeside, open } from '../support/postgres-stores.ts';

/** Five thousand ended tasks, five hundred waiting lanes, as many held runs, and more turns that wait. */
const FILL = `
  INSERT INTO tasks (id, context_id, status_state, status_timestamp, created_at, updated_at, artifacts, history, metadata,
    owner, tenant, agent, dialect, session, direct, turns, folded, open)
  SELECT 't' || n, 'c' || n % 100, 'completed', to_char(now() - n * interval '1 second', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    '', '', '[]', repeat('x', 500), '{}', 'o' || n % 10, '', 'echo', '1.0', 's' || n, 0, 1, 1, 0
  FROM generate_series(1, 5000) AS n;
  INSERT INTO lanes (key, agent, owner, places, waiting, paused, rank, ready_at)
  SELECT 's' || n, 'echo', 'o' || n % 10, 1, 1, 0, n, 0 FROM generate_series(1, 500) AS n;
  INSERT INTO heads (task, seq, epoch, ended, cancel, tail, content, follows) SELECT n, 3, 1, 1, 0, 0, 0, 0
  FROM generate_series(4001, 9000) AS n;
  INSERT INTO heads (task, seq, epoch, ended, cancel, tail, content, follows,
    lane, place, number, message_seq, owner, call, queued_at, attempt, turn_ended, holder)
  SELECT n, 1, 0, 0, 0, 0, 0, 0, n, 1, 1, 1, 'o' || n % 10, '{}', 0, 1, 0, CASE WHEN n <= 500 THEN 'me' END
  FROM generate_series(1, 4000) AS n;
  INSERT INTO followers (kind, target, subject_type, subject, events, first_seq, last_seq, due_at, attempts)
  SELECT 'webhook', n || '/w', 'task', n, 1, 1, CASE WHEN n <= 500 THEN 1 ELSE 0 END, CASE WHEN n <= 500 THEN 0 END, 0
  FROM generate_series(1, 5000) AS n`;

const pageOf = (states: readonly State[]): Statement => {
  const scope = { owner: 'o1', tenant: '', agent: 'echo' };
  const query = { contextId: 'c1', states, limit: 1, order: 'inserted', withArtifacts: true } as const;
  const { value } = list(scope, query).next([]);
  if (!value || !('kind' in value) || value.kind !== 'query') throw new Error('A list begins with its page.');
  return value.statement;
};

describe('with many tasks, and statistics that say so, PostgreSQL', () => {
  it('finds what it is asked for without a look at all the others', async () => {
    const options = freshSchema();
    await open(options);
    const beside = await connectBeside(options.url);
    await beside.query(`SET search_path TO ${options.schema}; SET enable_seqscan TO off; ${FILL}`);
    await beside.query('ANALYZE tasks, lanes, heads, followers, claims');
    const planOf = async (statement: Statement): Promise<string> => {
      const { rows } = await beside.query<Record<string, string>>(
        `EXPLAIN (GENERIC_PLAN) ${inPostgres(statement).text}`,
      );
      return rows.flatMap((row) => Object.values(row)).join('\n');
    };

    // The janitor, every half minute on every instance: which ended tasks are old enough.
    expect(await planOf(ENDED_BEFORE)).toMatch(/Index Scan using idx_tasks_status on tasks/);
    // A host of sessions, before each message: whether anything waits or runs in a conversation.
    expect(await planOf(pageOf(['submitted', 'working']))).toMatch(/idx_tasks_open/);
    // Every instance, every second: which runs have lost their instance.
    expect(await planOf(ORPHANS)).toMatch(/idx_turns_holder/);
    // The metrics: how many wait, how many run, and since when.
    expect(await planOf(COUNT_TURNS)).not.toMatch(/Seq Scan|heads_pkey/);
    // Every look into the outbox: what is due, and what is due for one target.
    expect(await planOf(DUE)).toMatch(/idx_followers_due/);
    expect(await planOf(DUE_OF)).toMatch(/idx_followers_target/);
    // Every commit of a task that is followed.
    expect(await planOf(OWE)).toMatch(/idx_followers_subject/);
    // A claim: the owners with too many runs are counted once, not for each lane.
    expect(await planOf(READY_LANES)).toMatch(/hashed SubPlan/);
  });
});
