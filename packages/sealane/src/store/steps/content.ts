import { type Event, fold, type Seq, type State, type TaskSnapshot } from '#domain';

import { CHUNK_TEXT, eventOf, type EventRow } from './event-text.ts';
import type { TaskRow } from './tasks.sql.ts';

/** The columns of a task's row that events change, as of event `folded`. */
export type Content = Pick<
  TaskRow,
  'status_state' | 'status_message' | 'status_timestamp' | 'artifacts' | 'history' | 'metadata' | 'folded'
>;

/** The content of a row, brought up to date with the events that are not folded into it yet. */
export const contentOf = (row: TaskRow, tail: readonly EventRow[], withArtifacts = true): Content => {
  const last = tail.at(-1);
  if (!last) return row;
  const rows = withArtifacts ? tail : tail.filter(({ data }) => !data.startsWith(CHUNK_TEXT));
  return foldInto(row, rows.map(eventOf), last.seq);
};

/** The same with events that need not be read. `folded` is the number of the last event. */
export const foldInto = (row: TaskRow, events: readonly Event[], folded: Seq): Content => {
  const snapshot = fold(snapshotOf(row), events);
  return {
    status_state: snapshot.state,
    status_message: snapshot.statusMessage ? JSON.stringify(snapshot.statusMessage) : null,
    status_timestamp: snapshot.statusAt,
    artifacts: JSON.stringify(snapshot.artifacts),
    history: JSON.stringify(snapshot.history),
    metadata: JSON.stringify(snapshot.metadata),
    folded,
  };
};

const snapshotOf = (row: TaskRow): TaskSnapshot => ({
  state: row.status_state as State,
  statusAt: row.status_timestamp,
  artifacts: JSON.parse(row.artifacts),
  history: JSON.parse(row.history),
  metadata: JSON.parse(row.metadata),
  ...(row.status_message !== null && { statusMessage: JSON.parse(row.status_message) }),
});
