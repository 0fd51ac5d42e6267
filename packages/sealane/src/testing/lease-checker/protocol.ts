/**
 * Sealane's lease protocol on PostgreSQL: who may run a turn, who may write to a task's log, and what happens to the
 * turns of an instance that is gone. Each function below is one transaction, statement by statement.
 *
 * What the checker proves: in the scenarios it is given (two or three instances, one or two lanes, two tasks, a crash, a
 * pause or a lost connection, a cancel), no order in which PostgreSQL may take the steps of these transactions breaks
 * one of the promises in `promises.ts`. All orders are tried.
 *
 * What it does not prove: that the store's SQL text says the same as this file (the contract suite and the chaos tests
 * run the real thing), anything about larger scenarios, admission, follow-ups, deadlines or the outbox, nor that the
 * runner keeps its side: that it aborts a run before its lease ends and really kills what it aborts.
 *
 * Locks are always taken in the same order: the lane's row first, then its head's. `variants.ts` tells what the
 * flags mean and which Sealane has set.
 */
import { commit, deleteFrom, insert, rollback, select, selectForUpdate, update } from './statement.ts';
import type { See, Transaction } from './statement.ts';
import { events, heads, instances, isOpen, lanes, tasks, turns } from './tables.ts';
import type { EndState, EventKind, Head, Instance, Run, Turn } from './tables.ts';
import type { Protocol } from './variants.ts';

const hasLease = (see: See, me: string): boolean => see(instances).some(({ id, ranOut }) => id === me && !ranOut);

const hasRunOut = ({ ranOut }: Instance): boolean => ranOut;

const headTurn = (see: See, lane: string): Turn | undefined =>
  see(turns)
    .filter((turn) => turn.lane === lane)
    .sort((a, b) => a.place - b.place)[0];

export function* claim(me: string, protocol: Protocol): Transaction<Run> {
  const [lane] = yield* selectForUpdate(
    `SELECT key FROM lanes WHERE waiting > 0 AND holder IS NULL AND ${me}'s lease holds LIMIT 1 FOR UPDATE SKIP LOCKED`,
    lanes,
    {
      subselect: (see) => ({
        hasLease: hasLease(see, me),
        // What one statement would read beside the lane: the head as its snapshot knows it.
        heads: protocol.oneStatementClaim ? see(lanes).map(({ key }) => headTurn(see, key) ?? null) : [],
      }),
      where: ({ waiting, holder }, { hasLease }) => waiting > 0 && holder === null && hasLease,
      returning: ({ key }, { heads }) => ({ key, head: heads.find((turn) => turn?.lane === key) }),
      limit: 1,
      skipLocked: true,
    },
  );
  if (!lane) return rollback;
  yield* update(
    `UPDATE lanes SET holder = ${me} WHERE key = ${lane.key}`,
    lanes,
    ({ key }) => key === lane.key,
    () => ({ holder: me }),
  );
  // A new statement and so a new snapshot, taken under the lane's lock: nobody can end or take this turn any more.
  const turn = protocol.oneStatementClaim
    ? lane.head
    : yield* select(`SELECT task, place FROM turns WHERE lane = ${lane.key} ORDER BY place LIMIT 1`, (see) =>
        headTurn(see, lane.key),
      );
  if (!turn) return rollback;
  yield* update(
    `UPDATE turns SET holder = ${me}, attempt = attempt + 1 WHERE (lane, place) = (${turn.lane}, ${turn.place})`,
    turns,
    ({ lane, place }) => lane === turn.lane && place === turn.place,
    ({ attempt }) => ({ holder: me, attempt: attempt + 1 }),
  );
  const [head] = yield* update(
    `UPDATE heads SET epoch = epoch + 1, seq = seq + 1 WHERE task = ${turn.task} RETURNING epoch, seq`,
    heads,
    ({ task }) => task === turn.task,
    ({ epoch, seq }) => ({ epoch: epoch + 1, seq: seq + 1 }),
  );
  if (!head) return rollback;
  yield* insertEvent(head, 'run-started', head.epoch);
  yield* update(
    `UPDATE tasks SET state = working WHERE task = ${turn.task}`,
    tasks,
    ({ task }) => task === turn.task,
    () => ({ state: 'working' as const }),
  );
  return commit({ lane: lane.key, task: turn.task, epoch: head.epoch, attempt: turn.attempt + 1, seq: head.seq });
}

export function* append(run: Run, protocol: Protocol): Transaction<null> {
  if (protocol.unlockedFence) {
    const [event] = yield* insert(
      `INSERT INTO events SELECT ${run.task}, ${run.seq + 1}, chunk WHERE EXISTS (SELECT FROM heads WHERE task = ${run.task} AND epoch = ${run.epoch})`,
      events,
      { task: run.task, seq: run.seq + 1, kind: 'chunk', by: run.epoch },
      (see) => see(heads).some(({ task, epoch }) => task === run.task && epoch === run.epoch),
    );
    if (!event) return rollback;
    yield* advanceHead(run.task);
    return commit(null);
  }
  const head = yield* advanceHead(run.task, run.epoch);
  if (!head) return rollback;
  yield* insertEvent(head, 'chunk', run.epoch);
  return commit(null);
}

/** Ends the turn and frees its lane. Nothing is written when the run is lost. */
export function* finish(run: Run, end: EndState, protocol: Protocol): Transaction<null> {
  yield* lockLane(run.lane);
  const head = yield* advanceHead(run.task, protocol.noFence ? undefined : run.epoch, protocol.finishEndsEpoch);
  if (!head) return rollback;
  yield* endTurn(head, end, run.epoch);
  yield* update(
    `UPDATE lanes SET waiting = waiting - 1, holder = NULL WHERE key = ${run.lane}`,
    lanes,
    ({ key }) => key === run.lane,
    ({ waiting }) => ({ waiting: waiting - 1, holder: null }),
  );
  return commit(null);
}

/** Gives the turn back to the head of its lane for another attempt. */
export function* release(run: Run, protocol: Protocol): Transaction<null> {
  yield* lockLane(run.lane);
  const head = yield* advanceHead(run.task, run.epoch, protocol.finishEndsEpoch);
  if (!head) return rollback;
  yield* insertEvent(head, 'run-lost', run.epoch);
  yield* update(
    `UPDATE turns SET holder = NULL WHERE task = ${run.task}`,
    turns,
    ({ task }) => task === run.task,
    () => ({ holder: null }),
  );
  yield* update(
    `UPDATE lanes SET holder = NULL WHERE key = ${run.lane}`,
    lanes,
    ({ key }) => key === run.lane,
    () => ({ holder: null }),
  );
  return commit(null);
}

/**
 * now() stands still within a transaction, so a slow renewal may succeed after its lease has run out. The checker has
 * this in the order where the renewal writes, the lease runs out, and the renewal commits.
 */
export function* renew(me: string, protocol: Protocol): Transaction<null> {
  const [renewed] = yield* update(
    `UPDATE instances SET lease_until = … WHERE id = ${me}${protocol.reviveLease ? '' : ' AND lease_until > now()'}`,
    instances,
    ({ id, ranOut }) => id === me && (protocol.reviveLease || !ranOut),
    () => ({ ranOut: false }),
  );
  if (renewed) return commit(null);
  if (!protocol.upsertLease) return rollback;
  const [inserted] = yield* insert(
    `INSERT INTO instances VALUES (${me}, …) ON CONFLICT DO NOTHING`,
    instances,
    { id: me, ranOut: false },
    (see) => see(instances).every(({ id }) => id !== me),
  );
  return inserted ? commit(null) : rollback;
}

/**
 * Takes over the turns of instances whose lease has run out, under a new epoch. To delete an instance is to wait for
 * its renewal under way, or to make that renewal miss. Who is an orphan is asked again under the lane's lock, in a new
 * snapshot: in the old one, a newcomer that has claimed the lane meanwhile would look like nobody.
 */
export function* reap(me: string, protocol: Protocol): Transaction<readonly Run[]> {
  const deleted = protocol.reapReadsLease
    ? yield* select('SELECT id FROM instances WHERE lease_until < now()', (see) => see(instances).filter(hasRunOut))
    : yield* deleteFrom('DELETE FROM instances WHERE lease_until < now() RETURNING id', instances, hasRunOut);
  const gone = deleted.map(({ id }) => id);
  const isAskedById = protocol.reapOnce || protocol.reapReadsLease;
  const isOrphan = (see: See, { holder }: Turn): boolean =>
    holder !== null && (isAskedById ? gone.includes(holder) : see(instances).every(({ id }) => id !== holder));
  const hasNoHolder = isAskedById
    ? `holder IN (${gone.join()})`
    : 'holder IS NOT NULL AND NOT EXISTS (SELECT FROM instances WHERE id = holder)';
  const orphans = yield* select(`SELECT task, lane FROM turns WHERE ${hasNoHolder}`, (see) =>
    see(turns).filter((turn) => isOrphan(see, turn)),
  );
  const taken: Run[] = [];
  for (const { task, lane } of orphans) {
    yield* lockLane(lane);
    const turn = yield* select(`SELECT attempt FROM turns WHERE task = ${task} AND ${hasNoHolder}`, (see) =>
      see(turns).find((turn) => turn.task === task && isOrphan(see, turn)),
    );
    if (!turn) continue;
    const [head] = yield* update(
      `UPDATE heads SET epoch = epoch + 1 WHERE task = ${task} RETURNING epoch, seq`,
      heads,
      (head) => head.task === task,
      ({ epoch }) => ({ epoch: epoch + 1 }),
    );
    if (!head) return rollback;
    yield* update(
      `UPDATE turns SET holder = ${me} WHERE task = ${task}`,
      turns,
      (turn) => turn.task === task,
      () => ({ holder: me }),
    );
    yield* update(
      `UPDATE lanes SET holder = ${me} WHERE key = ${lane}`,
      lanes,
      ({ key }) => key === lane,
      () => ({ holder: me }),
    );
    taken.push({ lane, task, epoch: head.epoch, attempt: turn.attempt, seq: head.seq });
  }
  return taken.length > 0 || deleted.length > 0 ? commit(taken) : rollback;
}

/** A queued turn ends now; for a running one the intent goes into the log, where its runner reads it. */
export function* requestCancel(task: string, lane: string): Transaction<null> {
  yield* lockLane(lane);
  const turn = yield* select(`SELECT holder FROM turns WHERE task = ${task}`, (see) =>
    see(turns).find((turn) => turn.task === task),
  );
  if (!turn) return rollback;
  const head = yield* advanceHead(task);
  if (!head) return rollback;
  if (turn.holder !== null) {
    yield* insertEvent(head, 'cancel-requested', head.epoch);
    return commit(null);
  }
  yield* endTurn(head, 'canceled', head.epoch);
  yield* update(
    `UPDATE lanes SET waiting = waiting - 1 WHERE key = ${lane}`,
    lanes,
    ({ key }) => key === lane,
    ({ waiting }) => ({ waiting: waiting - 1 }),
  );
  return commit(null);
}

function* lockLane(lane: string) {
  yield* selectForUpdate(`SELECT key FROM lanes WHERE key = ${lane} FOR UPDATE`, lanes, {
    where: ({ key }) => key === lane,
  });
}

/** The fence is the row that carries the number: no row, no number, no event. */
function* advanceHead(ofTask: string, inEpoch?: number, endsEpoch = false) {
  const set = `seq = seq + 1${endsEpoch ? ', epoch = epoch + 1' : ''}`;
  const fence = inEpoch === undefined ? '' : ` AND epoch = ${inEpoch}`;
  const [head] = yield* update(
    `UPDATE heads SET ${set} WHERE task = ${ofTask}${fence} RETURNING seq, epoch`,
    heads,
    ({ task, epoch }) => task === ofTask && (inEpoch === undefined || epoch === inEpoch),
    ({ seq, epoch }) => ({ seq: seq + 1, epoch: endsEpoch ? epoch + 1 : epoch }),
  );
  return head;
}

function* insertEvent({ task, seq }: Head, kind: EventKind, by: number) {
  yield* insert(`INSERT INTO events VALUES (${task}, ${seq}, ${kind})`, events, { task, seq, kind, by });
}

/** The end of a turn, under the lane's and the head's lock. */
function* endTurn(head: Head, end: EndState, by: number) {
  yield* insertEvent(head, end, by);
  yield* update(
    `UPDATE tasks SET state = ${end} WHERE task = ${head.task} AND state IN (submitted, working)`,
    tasks,
    ({ task, state }) => task === head.task && isOpen(state),
    () => ({ state: end }),
  );
  yield* deleteFrom(`DELETE FROM turns WHERE task = ${head.task}`, turns, ({ task }) => task === head.task);
}
