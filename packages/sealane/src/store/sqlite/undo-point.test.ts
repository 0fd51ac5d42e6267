import { describe, expect, it } from 'vitest';

import { all, refuse, sql, type Steps, undoPoint, wake } from '../steps/step.ts';
import { add, copyOf, kindsIn, newFile, openWriter } from './crashed-writer.fixture.ts';
import { redoRecordsIn } from './redo-records.fixture.ts';

const MARK = sql(`UPDATE audit SET facts = facts || '!' WHERE kind = ?`);
const ROWS = sql<{ k: number; kind: string; facts: string }>(`SELECT k, kind, facts FROM audit ORDER BY k`);

/** Writes, and refuses then. The UPDATE is a text that other calls may not have used yet. */
function* addAndRefuse(kind: string): Steps<string> {
  yield* undoPoint();
  yield* add(kind);
  yield* all(MARK, 'kept');
  yield* wake();
  return refuse(`${kind} was refused`);
}
function* addWithUndoPoint(kind: string): Steps<string> {
  yield* undoPoint();
  yield* add(kind);
  return kind;
}

type Opened = ReturnType<typeof openWriter>;
const batch = (opened: Opened, calls: readonly Steps<unknown>[], wakes = new Set<string>()): unknown[] =>
  opened.writer.perform((run) => calls.map((call) => run(call)), wakes);
const rowsOf = (opened: Opened): readonly object[] => opened.writer.look((run) => run(all(ROWS)));
const rowsIn = (file: string): readonly object[] => {
  using opened = openWriter(file);
  return rowsOf(opened);
};

describe('a call that refuses in the middle of a batch', () => {
  it('leaves nothing, and the other calls are durable and were done once', () => {
    using opened = openWriter();
    const wakes = new Set<string>();
    const done = batch(opened, [add('kept'), addAndRefuse('refused'), addWithUndoPoint('last')], wakes);
    expect(done).toEqual([undefined, 'refused was refused', 'last']);
    expect([...wakes]).toEqual([]);
    expect(() => opened.database.exec('RELEASE undo_point')).toThrow(/no such savepoint/);
    expect(rowsOf(opened)).toEqual([
      { k: 1, kind: 'kept', facts: '' },
      { k: 2, kind: 'last', facts: '' },
    ]);
    expect(opened.database.isTransaction).toBe(true);
    expect(kindsIn(copyOf(opened.file, ['', '-wal']))).toEqual([]);
    expect(redoRecordsIn(opened.file).map((record) => record.length)).toEqual([2]);
    expect(rowsIn(copyOf(opened.file))).toEqual(rowsOf(opened));
    opened.writer.flush();
    expect(rowsIn(copyOf(opened.file))).toEqual(rowsOf(opened));
  });

  it('does not confuse the redo log about which statement is which', () => {
    using opened = openWriter();
    batch(opened, [addAndRefuse('refused'), add('kept')]);
    // This batch spells out the UPDATE: the text that the refused call used is not in the log.
    batch(opened, [all(MARK, 'kept'), addAndRefuse('refused')]);
    batch(opened, [add('third'), all(MARK, 'third'), addAndRefuse('refused'), all(MARK, 'kept')]);
    expect(redoRecordsIn(opened.file).map((record) => record.length)).toEqual([1, 1, 3]);
    expect(rowsIn(copyOf(opened.file))).toEqual([
      { k: 1, kind: 'kept', facts: '!!' },
      { k: 2, kind: 'third', facts: '!' },
    ]);
  });

  it('takes back what an embedded step wrote, whose own undo point does nothing', () => {
    using opened = openWriter();
    const outer = function* (): Steps<string> {
      yield* undoPoint();
      yield* add('outer');
      return yield* addAndRefuse('embedded');
    };
    expect(batch(opened, [add('kept'), outer()])).toEqual([undefined, 'embedded was refused']);
    expect(opened.kinds()).toEqual(['kept']);
    expect(kindsIn(copyOf(opened.file))).toEqual(['kept']);
  });

  it('leaves nothing in memory either', () => {
    using opened = openWriter(':memory:');
    expect(batch(opened, [add('kept'), addAndRefuse('refused')])).toEqual([undefined, 'refused was refused']);
    expect(opened.kinds()).toEqual(['kept']);
  });
});

it('a batch in which all calls refuse writes nothing into the redo log', () => {
  using opened = openWriter();
  batch(opened, [addAndRefuse('a'), addAndRefuse('b')]);
  expect(redoRecordsIn(opened.file)).toEqual([]);
  expect(opened.kinds()).toEqual([]);
});

it('a call that refuses before it has written anything needs no undo point', () => {
  using opened = openWriter();
  const refusing = function* (): Steps<string> {
    yield* wake();
    return refuse('no');
  };
  const wakes = new Set<string>();
  expect(batch(opened, [add('kept'), refusing()], wakes)).toEqual([undefined, 'no']);
  expect([...wakes]).toEqual([]);
  expect(opened.kinds()).toEqual(['kept']);
});

describe('a call that wakes somebody and does not refuse', () => {
  it('wakes, also when another call of its batch refuses', () => {
    using opened = openWriter();
    const wakes = new Set<string>();
    batch(opened, [wake(), addAndRefuse('refused')], wakes);
    expect([...wakes]).toEqual(['']);
  });
});

describe('a step with a mistake fails its batch:', () => {
  const withoutUndoPoint = function* (): Steps<string> {
    yield* add('half');
    return refuse('no');
  };
  const tooLate = function* (): Steps<void> {
    yield* add('half');
    yield* undoPoint();
  };
  const broken = function* (): Steps<void> {
    yield* undoPoint();
    yield* add('half');
    throw new Error('broken');
  };

  it.each([
    ['it refuses after a write, without an undo point', withoutUndoPoint, /had not asked for an undo point/],
    ['it asks for its undo point after a write', tooLate, /after its first write/],
    ['it throws after its undo point', broken, /^broken$/],
  ])('%s', (_, step, message) => {
    using opened = openWriter();
    opened.add('before');
    expect(() => batch(opened, [add('beside'), step()])).toThrow(message);
    expect(opened.kinds()).toEqual(['before']);
    expect(kindsIn(copyOf(opened.file))).toEqual(['before']);
    expect(batch(opened, [add('after'), addAndRefuse('refused')])).toEqual([undefined, 'refused was refused']);
    expect(kindsIn(copyOf(opened.file))).toEqual(['before', 'after']);
  });
});

it('a batch too large for the redo log is committed without what was refused', () => {
  const file = newFile();
  using opened = openWriter(file);
  batch(opened, [add('large', 'x'.repeat(5_000_000)), addAndRefuse('refused')]);
  expect(opened.database.isTransaction).toBe(false);
  expect(kindsIn(copyOf(file))).toEqual(['large']);
});
