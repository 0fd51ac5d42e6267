import { expect, it, onTestFinished } from 'vitest';

import { createAppendGroups } from '../../packages/sealane/src/store/postgres/append-groups.ts';
import { openDatabase } from '../../packages/sealane/src/store/postgres/database.ts';
import { createStepTransactions } from '../../packages/sealane/src/store/postgres/step-transactions.ts';
import {
  all,
  first,
  OWED_WORD,
  refuse,
  sql,
  StepConflict,
  type Steps,
  undoPoint,
  wake,
} from '../../packages/sealane/src/store/steps/step.ts';

import { freshSchema } from '../support/fresh-schema.ts';

const ADD = sql(`INSERT INTO audit (at, kind, actor, subject, facts) VALUES (1, ?, '', '', '{}')`);
const ADD_AND_ASK = sql<{ k: number }>(
  `INSERT INTO audit (at, kind, actor, subject, facts) VALUES (1, ?, '', '', '{}') {new-key}`,
);
const KINDS = sql<{ kind: string }>(`SELECT kind FROM audit ORDER BY k`);

function* kinds(): Steps<readonly string[]> {
  return (yield* all(KINDS)).map(({ kind }) => kind);
}
function* add(kind: string): Steps<string> {
  yield* all(ADD, kind);
  yield* wake('a task');
  return kind;
}

/** What runs the steps of a store, with steps that only these tests have. */
const openTransactions = async () => {
  const database = await openDatabase({ ...freshSchema(), poolSize: 2 });
  onTestFinished(async () => {
    await Promise.all([database.pool.end(), database.leasePool.end()]);
  });
  const commits: string[][] = [];
  const transactions = createStepTransactions({
    database,
    poolSize: 2,
    fateMs: 1000,
    isClosed: () => false,
    isCut: () => false,
    onCommit: (_, woken) => commits.push([...woken]),
  });
  return {
    write: <T>(name: string, calls: readonly (() => Steps<T>)[]) => transactions.write(name, calls),
    commits,
    kinds: () => transactions.read('kinds', kinds),
  };
};

it('a call that refuses after its writes is answered, writes nothing, wakes nobody, and is not tried again', async () => {
  const { write, commits, ...opened } = await openTransactions();
  let tries = 0;
  const refusing = function* (): Steps<string> {
    tries += 1;
    yield* undoPoint();
    yield* add('silent');
    yield* first(ADD_AND_ASK, 'asked');
    yield* wake();
    yield* wake(OWED_WORD);
    return refuse('no');
  };
  expect(await write('test', [refusing])).toEqual(['no']);
  expect(tries).toBe(1);
  expect(commits).toEqual([]);
  expect(await opened.kinds()).toEqual([]);
  // The connections are as good as before.
  const others = await Promise.all(['a', 'b', 'c'].map((kind) => write('test', [() => add(kind)])));
  expect(others).toEqual([['a'], ['b'], ['c']]);
  expect((await opened.kinds()).toSorted()).toEqual(['a', 'b', 'c']);
  expect(commits).toEqual([['a task'], ['a task'], ['a task']]);
});

it('a call that lost a race and refuses then is answered, and leaves nothing of either try', async () => {
  const { write, commits, ...opened } = await openTransactions();
  let tries = 0;
  const refusing = function* (): Steps<string> {
    tries += 1;
    yield* undoPoint();
    yield* add('half');
    if (tries < 3) throw new StepConflict();
    return refuse('no');
  };
  expect(await write('test', [refusing])).toEqual(['no']);
  expect(tries).toBe(3);
  expect(commits).toEqual([]);
  expect(await opened.kinds()).toEqual([]);
});

it('a refusal whose write has failed is no answer: the error is told', async () => {
  const { write, ...opened } = await openTransactions();
  const failing = function* (): Steps<string> {
    yield* undoPoint();
    yield* all(ADD, null);
    return refuse('no');
  };
  await expect(write('test', [failing])).rejects.toThrow(/null value/);
  expect(await opened.kinds()).toEqual([]);
});

it('in a group of appends, a call that refuses gets its answer alone, and the others theirs', async () => {
  const { write, commits, ...opened } = await openTransactions();
  const refusing = function* (): Steps<string> {
    yield* undoPoint();
    yield* add('refused');
    return refuse('no');
  };
  type Call = { readonly task: number; readonly steps: () => Steps<string> };
  const append = createAppendGroups((calls: readonly Call[]) =>
    write(
      'append',
      calls.map(({ steps }) => steps),
    ),
  );
  const calls = [() => add('a'), refusing, () => add('b')].map((steps, task) => append({ task, steps }));
  expect(await Promise.all(calls)).toEqual(['a', 'no', 'b']);
  expect((await opened.kinds()).toSorted()).toEqual(['a', 'b']);
  expect(commits).toHaveLength(2);
});
