import { fold, type State, type TaskSnapshot } from '#domain';

import { addsArtifact, eventOf, isoOf } from './event-log.ts';
import type { EventRow, TaskRow } from './tasks.sql.ts';

/** What events change of a task's row, as of event `folded`. */
export type Content = Pick<
  TaskRow,
  'status_state' | 'status_message' | 'status_timestamp' | 'artifacts' | 'history' | 'metadata' | 'folded'
>;

/** The content of a row, brought up to date by the events that are not folded into it yet. */
export const contentOf = (row: TaskRow, tail: readonly EventRow[], withArtifacts = true): Content => {
  const last = tail.at(-1);
  if (!last) return row;
  return plainTurn(tail) ?? folded(row, withArtifacts ? tail : tail.filter((event) => !addsArtifact(event)), last.seq);
};

const folded = (row: TaskRow, tail: readonly EventRow[], seq: number): Content => ({
  ...columnsOf(fold(snapshotOf(row), tail.map(eventOf))),
  folded: seq,
});

/** A snapshot as a row has it, in the order of `SET_SNAPSHOT`. */
export const columnsOf = (snapshot: TaskSnapshot): Omit<Content, 'folded'> => ({
  status_state: snapshot.state,
  status_message: snapshot.statusMessage ? JSON.stringify(snapshot.statusMessage) : null,
  status_timestamp: snapshot.statusAt,
  artifacts: JSON.stringify(snapshot.artifacts),
  history: JSON.stringify(snapshot.history),
  metadata: JSON.stringify(snapshot.metadata),
});

const snapshotOf = (row: TaskRow): TaskSnapshot => ({
  state: row.status_state as State,
  statusAt: row.status_timestamp,
  artifacts: JSON.parse(row.artifacts),
  history: JSON.parse(row.history),
  metadata: JSON.parse(row.metadata),
  ...(row.status_message !== null && { statusMessage: JSON.parse(row.status_message) }),
});

const ADMITTED = /^\{"kind":"task-admitted","state":"submitted","message":/;
const STARTED = /^\{"kind":"run-started","state":"working",/;
const ADDED = /^\{"kind":"artifact-added",(?:"lastChunk":true,)?"artifact":/;
const ENDED = /^\{"kind":"turn-ended","state":"([a-z-]+)"(?:,"message":|(?=\}$))/;

/** What comes after the first words of an event, without the brace that closes it. */
const restOf = ({ data }: EventRow, words: RegExp): string | undefined => {
  const found = words.exec(data)?.[0];
  return found === undefined ? undefined : data.slice(found.length, -1);
};

/**
 * The same for a task of one plain turn with one artifact or none, as most are: put together from the texts of its events,
 * none of which has to be read. Nothing: there is more to it.
 */
const plainTurn = (tail: readonly EventRow[]): Content | undefined => {
  const [admitted, started, ...rest] = tail;
  const end = rest.pop();
  if (!admitted || !started || !STARTED.test(started.data) || !end || rest.length > 1) return undefined;
  const asked = restOf(admitted, ADMITTED);
  const artifact = rest[0] ? restOf(rest[0], ADDED) : '';
  const answer = restOf(end, ENDED);
  if (asked === undefined || artifact === undefined || answer === undefined) return undefined;
  return {
    // Not what the row has, which may have been read a moment before its events.
    status_state: ENDED.exec(end.data)?.[1] ?? '',
    status_timestamp: isoOf(end.at),
    status_message: answer === '' ? null : answer,
    artifacts: `[${artifact}]`,
    history: answer === '' ? `[${asked}]` : `[${asked},${answer}]`,
    metadata: '{}',
    folded: end.seq,
  };
};
