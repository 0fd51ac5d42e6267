import { lock, sql } from './step.ts';

export interface LaneRow {
  readonly k: number;
  readonly key: string;
  readonly agent: string;
  readonly owner: string;
  readonly places: number;
  readonly waiting: number;
  readonly holder: string | null;
  readonly paused: number;
  readonly rank: number;
  readonly ready_at: number;
}

export interface TurnRow {
  readonly task: number;
  readonly lane: number;
  readonly place: number;
  readonly number: number;
  readonly message_seq: number;
  readonly owner: string;
  readonly call: string;
  readonly queued_at: number;
  /** `started_at`: when the first attempt started. `held_at`: when its holder got it; null if the holder has left. */
  readonly started_at: number | null;
  readonly held_at: number | null;
  readonly holder: string | null;
  readonly attempt: number;
  readonly ref: string | null;
  readonly cancel: number;
  readonly turn_ended: number;
  readonly drains: number;
}

/** Written so that the planner uses the index of the few held turns, and does not read all heads without a turn. */
const IS_HELD = `heads.holder > ''`;

/** Makes a lane that its first turn holds at once. No row: the lane exists already, or its agent is paused. */
export const MAKE_HELD_LANE = sql<{ k: number }>(`
  INSERT INTO lanes (key, agent, owner, places, waiting, holder, paused, rank, ready_at)
  SELECT CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), 1, 0, CAST(? AS TEXT), 0, 0, 0
  WHERE NOT EXISTS (SELECT 1 FROM paused_agents WHERE agent = ?)
  ON CONFLICT (key) DO NOTHING {new-key}`);
/**
 * Takes the next place in a lane, and makes the lane if it does not exist. The instance gets the lane at once if it has
 * a slot (its id is given) and the lane is idle. Otherwise the turn waits. No row: the lane is full.
 */
export const ENTER_LANE = sql<LaneRow>(`
  INSERT INTO lanes (key, agent, owner, places, waiting, holder, paused, rank, ready_at)
  VALUES (?, ?, ?, 1, CASE WHEN CAST(? AS TEXT) IS NULL THEN 1 ELSE 0 END, ?, 0, 0, 0)
  ON CONFLICT (key) DO UPDATE SET
    places = lanes.places + 1,
    waiting = lanes.waiting + CASE
      WHEN excluded.holder IS NOT NULL AND lanes.holder IS NULL AND lanes.waiting = 0 AND lanes.paused = 0 THEN 0
      ELSE 1 END,
    holder = CASE
      WHEN excluded.holder IS NOT NULL AND lanes.holder IS NULL AND lanes.waiting = 0 AND lanes.paused = 0
      THEN excluded.holder ELSE lanes.holder END
  WHERE lanes.waiting < ?
  RETURNING *`);
export const LOCK_LANE = lock(`SELECT k FROM lanes WHERE k = ? {lock}`);
export const LANE_BY_KEY = sql<LaneRow>(`SELECT * FROM lanes WHERE key = ?`);

/**
 * Fairness between owners. A lane that becomes ready gets a rank behind the point that claims have reached: the highest
 * rank that runs, or else the lowest that is ready. It also goes behind the other lanes of its owner. So an owner with
 * a thousand lanes and an owner with a single lane take turns.
 */
export const NEXT_RANK = sql<{ lowest: number | null; own: number | null }>(`
  SELECT
    COALESCE(
      (SELECT max(rank) FROM lanes WHERE agent = ? AND holder IS NOT NULL AND rank > 0),
      (SELECT min(rank) FROM lanes WHERE agent = ? AND waiting > 0 AND holder IS NULL AND paused = 0)) AS lowest,
    (SELECT max(rank) FROM lanes WHERE owner = ? AND rank > 0) AS own`);
export const SET_RANK = sql(`UPDATE lanes SET rank = ? WHERE k = ?`);

/**
 * The first half of a claim: it locks idle lanes. The second half picks their first turns in a snapshot that begins
 * after the lock. Owners at their limit of runs are found once, and not for each lane that waits.
 */
export const READY_LANES = sql<LaneRow>(`
  SELECT * FROM lanes
  WHERE agent = ? AND waiting > 0 AND holder IS NULL AND paused = 0 AND ready_at <= ?
    AND (CAST(? AS BIGINT) = 0
      OR owner NOT IN (SELECT owner FROM heads WHERE ${IS_HELD} GROUP BY owner HAVING count(*) >= ?))
  ORDER BY rank LIMIT ? {lock-free}`);
/**
 * With a limit of runs per owner, claims run one after another: two that count at the same time would both start the
 * last run.
 */
export const CLAIM_IN_TURN = lock(
  `SELECT pg_advisory_xact_lock(hashtext('sealane claim'), hashtext(current_schema()::TEXT))`,
);
export const IS_PAUSED = sql<{ agent: string }>(`SELECT agent FROM paused_agents WHERE agent = ?`);
export const RUNNING_BY_OWNER = sql<{ owner: string; n: number }>(`
  SELECT owner, count(*) AS n FROM heads WHERE ${IS_HELD} GROUP BY owner`);
export const HOLD_LANE = sql(`UPDATE lanes SET holder = ?, waiting = waiting - 1 WHERE k = ?`);
export const REHOLD_LANE = sql(`UPDATE lanes SET holder = ? WHERE k = ?`);
export const DROP_IDLE_LANE = sql<{ k: number }>(`
  DELETE FROM lanes WHERE k = ? AND waiting = 0 AND paused = 0 {changed}`);
export const FREE_LANE = sql<LaneRow>(`UPDATE lanes SET holder = NULL, ready_at = 0 WHERE k = ? RETURNING *`);
export const RETRY_LANE = sql<LaneRow>(`
  UPDATE lanes SET holder = NULL, waiting = waiting + 1, ready_at = ? WHERE k = ? RETURNING *`);
export const LEAVE_LANE = sql<LaneRow>(`
  UPDATE lanes SET waiting = waiting - 1, ready_at = ready_at * CAST(? AS BIGINT) WHERE k = ? RETURNING *`);
export const DROP_EMPTY_LANE = sql(`DELETE FROM lanes WHERE k = ? AND waiting = 0 AND holder IS NULL AND paused = 0`);

const TURN_COLUMNS = `task, lane, place, number, message_seq, owner, call, queued_at, started_at, held_at, holder, attempt,
    ref, cancel, turn_ended, drains`;
export const TURN = sql<TurnRow>(`SELECT ${TURN_COLUMNS} FROM heads WHERE task = ? AND lane IS NOT NULL`);
export const HEAD_TURN = sql<TurnRow>(`
  SELECT ${TURN_COLUMNS} FROM heads WHERE lane = ? AND holder IS NULL ORDER BY place LIMIT 1`);
/** Counts the turns that wait before this place, and one more if the lane has a holder. */
export const TURNS_AHEAD = sql<{ n: number }>(`
  SELECT count(*) + (SELECT CASE WHEN holder IS NULL THEN 0 ELSE 1 END FROM lanes WHERE k = ?) AS n
  FROM heads WHERE lane = ? AND place < ? AND holder IS NULL`);
/** Answers a row if more turns of this owner wait than the given number. */
export const WAITING_BEYOND = sql<{ task: number }>(`
  SELECT task FROM heads WHERE owner = ? AND lane IS NOT NULL AND holder IS NULL LIMIT 1 OFFSET ?`);
/** The task that runs in a lane now. */
export const RUNNING_IN = sql<{ id: string; number: number; attempt: number }>(`
  SELECT tasks.id AS id, heads.number AS number, heads.attempt AS attempt FROM lanes
  JOIN heads ON heads.holder = lanes.holder AND heads.lane = lanes.k
  JOIN tasks ON tasks.k = heads.task
  WHERE lanes.key = ?`);

export const TAKE_LEASE = sql<{ id: string }>(`
  INSERT INTO instances (id, lease_until) VALUES (?, now_ms() + ?)
  ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until WHERE instances.lease_until > now_ms()
  RETURNING id`);
export const LEASE = sql<{ id: string }>(`SELECT id FROM instances WHERE id = ? AND lease_until > now_ms()`);
/**
 * Marks expired instances as dead. A dead instance keeps its row, with the negative time of its death, so that a late
 * renewal finds the row and revives nothing. The update locks the row: it waits for a renewal in flight, and respects a
 * renewal that was in time.
 */
export const BURY_EXPIRED = sql(`
  UPDATE instances SET lease_until = -now_ms() WHERE lease_until > 0 AND lease_until <= now_ms()`);
export const BURY = sql<{ k: number }>(`
  UPDATE instances SET lease_until = -now_ms() WHERE id = ? AND lease_until > 0 {changed}`);
/** Marks the runs of an instance that has left, so that the instance that reaps them tells it from a lost one. */
export const MARK_LEFT = sql(`UPDATE heads SET held_at = NULL WHERE holder = ?`);
export const FORGET_DEAD = sql(`DELETE FROM instances WHERE lease_until < 0 AND lease_until > -(now_ms() - 86400000)`);
const NO_LIVE_HOLDER = `${IS_HELD}
    AND NOT EXISTS (SELECT 1 FROM instances WHERE instances.id = heads.holder AND instances.lease_until > 0)`;
/** Without an order. An ORDER BY would make every instance read all waiting turns every second. */
export const ORPHANS = sql<{ task: number; lane: number }>(`
  SELECT task, lane FROM heads WHERE ${NO_LIVE_HOLDER} LIMIT ?`);
export const ORPHAN = sql<TurnRow>(`SELECT ${TURN_COLUMNS} FROM heads WHERE task = ? AND ${NO_LIVE_HOLDER}`);
/** Runs that an instance has held for a while, to find those that it does not know. */
export const HELD_SINCE = sql<{ task: number; lane: number; id: string }>(`
  SELECT heads.task AS task, heads.lane AS lane, tasks.id AS id FROM heads JOIN tasks ON tasks.k = heads.task
  WHERE heads.holder = ? AND heads.held_at < ?`);
export const HELD_BY = sql<TurnRow>(`SELECT ${TURN_COLUMNS} FROM heads WHERE task = ? AND holder = ?`);
export const INTERVENTIONS = sql<{ id: string }>(`
  SELECT tasks.id AS id FROM heads JOIN tasks ON tasks.k = heads.task
  WHERE heads.holder = ? AND (heads.cancel = 1 OR heads.turn_ended = 1)`);

export const PAUSE_LANE = sql<LaneRow>(`UPDATE lanes SET paused = ? WHERE key = ? RETURNING *`);
export const PAUSE_AGENT = sql(`INSERT INTO paused_agents (agent) VALUES (?) ON CONFLICT (agent) DO NOTHING`);
export const RESUME_AGENT = sql(`DELETE FROM paused_agents WHERE agent = ?`);
export const PAUSED_AGENTS = sql<{ agent: string }>(`SELECT agent FROM paused_agents ORDER BY agent`);
