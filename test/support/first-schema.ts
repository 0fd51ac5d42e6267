import { MIGRATIONS } from '../../packages/sealane/src/store/schema.sql.ts';

/** The tables of the first version, with a lane in which one turn runs, for an instance that is gone, and one waits. */
export const FIRST_SCHEMA: readonly string[] = [
  ...(MIGRATIONS[0] ?? []),
  ...['runs', 'waits'].flatMap((id, index) => {
    const k = index + 1;
    const holder = id === 'runs' ? "'gone'" : 'NULL';
    const state = id === 'runs' ? 'working' : 'submitted';
    const event = { kind: 'task-admitted', state: 'submitted', message: messageOf(id) };
    return [
      `INSERT INTO tasks (id, context_id, status_state, status_timestamp, created_at, updated_at, artifacts, history,
        metadata, owner, tenant, agent, dialect, session, direct, turns, folded, open)
      VALUES ('${id}', 'c', '${state}', '', '', '', '[]', '[]', '{}', 'o', '', 'echo', '1.0', 'lane', 0, 1, 0, 1)`,
      `INSERT INTO heads VALUES (${k}, 1, ${id === 'runs' ? 1 : 0}, 0, 0, 100, 0, 0)`,
      `INSERT INTO events VALUES (${k}, 1, 0, '${JSON.stringify(event)}')`,
      `INSERT INTO turns VALUES (${k}, 1, ${k}, 1, 1, 'o', '{"permission":"ask"}', ${k}, 5, 6, ${holder},
        ${id === 'runs' ? 1 : 0}, NULL, 0, 0)`,
    ];
  }),
  `INSERT INTO tasks (id, context_id, status_state, status_timestamp, created_at, updated_at, artifacts, history,
    metadata, owner, tenant, agent, dialect, session, direct, turns, folded, open)
  VALUES ('ended', 'c', 'completed', '', '', '', '[]', '[]', '{}', 'o', '', 'echo', '1.0', 'lane', 0, 1, 0, 0)`,
  `INSERT INTO heads VALUES (3, 4, 1, 1, 0, 100, 0, 0)`,
  // A webhook of the turn that waits, which has not been told of its first event, and one that is up to date.
  ...['owed', 'told'].map((id) => `INSERT INTO push_configs VALUES (2, '${id}', '{"url":"https://${id}.example"}', 0)`),
  `UPDATE heads SET push = 1 WHERE task = 2`,
  `INSERT INTO outbox (kind, task, target, first_seq, last_seq, due_at, attempts, claims, held)
  VALUES ('push', 2, 'owed', 1, 1, 0, 2, 3, 1)`,
  `INSERT INTO lanes (key, agent, owner, places, waiting, holder, paused, rank, ready_at)
  VALUES ('lane', 'echo', 'o', 2, 1, 'gone', 0, 0, 0)`,
];

function messageOf(id: string) {
  return { messageId: id, role: 'ROLE_USER', parts: [{ text: id }] };
}
