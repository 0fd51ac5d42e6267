/**
 * The tables, written once for both databases. `{key}` is a generated integer key, `{lasting-key}` one that is never
 * given twice, `{given-key}` an integer key that we set ourselves, `{rowless}` stores a table inside its primary key where the database can.
 *
 * Names of seed documents are kept (`tasks`: id, context_id, status_state, …); integer keys inside make writes cheap.
 * A task's row holds its state as of now and its content (artifacts, history, metadata, the message of its status) as
 * of event `folded`; the events after that are the tail. A short tail is folded in by whoever reads the task, so most
 * tasks are stored once, as their events; a longer one at the end of its turn, or when it has outgrown the content. So
 * a chunk costs one row in `events` and eight bytes in `heads`, however long the task is.
 */
export const MIGRATIONS: readonly (readonly string[])[] = [
  [
    `CREATE TABLE tasks (
      k {lasting-key},
      id TEXT NOT NULL UNIQUE,
      context_id TEXT NOT NULL,
      status_state TEXT NOT NULL,
      status_message TEXT,
      status_timestamp TEXT NOT NULL,
      created_at TEXT NOT NULL,
      updated_at TEXT NOT NULL,
      artifacts TEXT NOT NULL,
      history TEXT NOT NULL,
      metadata TEXT NOT NULL,
      owner TEXT NOT NULL,
      tenant TEXT NOT NULL,
      agent TEXT NOT NULL,
      dialect TEXT NOT NULL,
      session TEXT NOT NULL,
      direct BIGINT NOT NULL,
      turns BIGINT NOT NULL,
      folded BIGINT NOT NULL,
      open BIGINT NOT NULL
    )`,
    // Lists read one ordered run of an index per state and merge them, so every combination of filters is a range.
    // Tasks that wait or run (open) are few and change soon: they have one small index, and enter the others when they
    // have settled. The tenant comes last, so that matches can be counted without looking at the tasks.
    `CREATE INDEX idx_tasks_open ON tasks(owner, status_state, status_timestamp, tenant) WHERE open = 1`,
    `CREATE INDEX idx_tasks_status ON tasks(status_state, status_timestamp) WHERE open = 0`,
    `CREATE INDEX idx_tasks_updated ON tasks(owner, status_state, status_timestamp, tenant) WHERE open = 0 AND direct = 0`,
    `CREATE INDEX idx_tasks_context ON tasks(owner, context_id, status_state, status_timestamp, tenant)
      WHERE open = 0 AND direct = 0`,
    `CREATE INDEX idx_tasks_agent ON tasks(owner, agent, status_state, status_timestamp, tenant) WHERE open = 0 AND direct = 0`,

    // One narrow row per task: the number of its last event and the epoch of the only run that may write. It is the
    // fence: who updates no row here writes nothing anywhere. `tail` and `content` are bytes, for the checkpoint. `push`
    // is 1 while a webhook wants to hear of its events, so that a task without one pays nothing for those that have.
    `CREATE TABLE heads (
      task {given-key},
      seq BIGINT NOT NULL,
      epoch BIGINT NOT NULL,
      ended BIGINT NOT NULL,
      cancel BIGINT NOT NULL,
      tail BIGINT NOT NULL,
      content BIGINT NOT NULL,
      push BIGINT NOT NULL
    )`,
    `CREATE TABLE events (
      task BIGINT NOT NULL,
      seq BIGINT NOT NULL,
      at BIGINT NOT NULL,
      data TEXT NOT NULL,
      PRIMARY KEY (task, seq)
    ) {rowless}`,

    // A lane exists while something waits or runs in it, or while it is paused.
    `CREATE TABLE lanes (
      k {key},
      key TEXT NOT NULL UNIQUE,
      agent TEXT NOT NULL,
      owner TEXT NOT NULL,
      places BIGINT NOT NULL,
      waiting BIGINT NOT NULL,
      holder TEXT,
      paused BIGINT NOT NULL,
      rank BIGINT NOT NULL,
      ready_at BIGINT NOT NULL
    )`,
    `CREATE INDEX idx_lanes_ready ON lanes(agent, rank) WHERE waiting > 0 AND holder IS NULL AND paused = 0`,
    `CREATE INDEX idx_lanes_rank ON lanes(owner, rank) WHERE rank > 0`,
    `CREATE INDEX idx_lanes_held ON lanes(agent, rank) WHERE holder IS NOT NULL AND rank > 0`,

    // The unfinished turn of a task, if there is one. `message_seq` is the event that carries its message.
    `CREATE TABLE turns (
      task {given-key},
      lane BIGINT NOT NULL,
      place BIGINT NOT NULL,
      number BIGINT NOT NULL,
      message_seq BIGINT NOT NULL,
      owner TEXT NOT NULL,
      call TEXT NOT NULL,
      queued_at BIGINT NOT NULL,
      started_at BIGINT,
      held_at BIGINT,
      holder TEXT,
      attempt BIGINT NOT NULL,
      ref TEXT,
      cancel BIGINT NOT NULL,
      ended BIGINT NOT NULL
    )`,
    `CREATE UNIQUE INDEX idx_turns_place ON turns(lane, place) WHERE holder IS NULL`,
    `CREATE INDEX idx_turns_holder ON turns(holder) WHERE holder IS NOT NULL`,
    `CREATE INDEX idx_turns_queued ON turns(queued_at) WHERE holder IS NULL`,
    `CREATE INDEX idx_turns_owner ON turns(owner) WHERE holder IS NULL`,

    `CREATE TABLE instances (id TEXT PRIMARY KEY, lease_until BIGINT NOT NULL)`,
    `CREATE TABLE idempotency (
      owner TEXT NOT NULL,
      key TEXT NOT NULL,
      body_hash TEXT NOT NULL,
      task_id TEXT NOT NULL,
      PRIMARY KEY (owner, key)
    ) {rowless}`,
    `CREATE INDEX idx_idempotency_task ON idempotency(task_id)`,
    `CREATE TABLE push_configs (
      task BIGINT NOT NULL,
      id TEXT NOT NULL,
      config TEXT NOT NULL,
      silent BIGINT NOT NULL,
      PRIMARY KEY (task, id)
    ) {rowless}`,

    // What is promised to others in the very commit of the events it is about: for each target (a webhook) of a task the
    // range of events that it has not been told. One row, so that its order is kept, and a target that is away takes no
    // more room than one that answers. `due_at` is when to look at it next; while somebody works on it (`held`) that is
    // when the claim lapses. `claims` counts the claims, and is the fence of the one that holds it.
    `CREATE TABLE outbox (
      k {lasting-key},
      kind TEXT NOT NULL,
      task BIGINT NOT NULL,
      target TEXT NOT NULL,
      first_seq BIGINT NOT NULL,
      last_seq BIGINT NOT NULL,
      due_at BIGINT NOT NULL,
      attempts BIGINT NOT NULL,
      claims BIGINT NOT NULL,
      held BIGINT NOT NULL
    )`,
    `CREATE UNIQUE INDEX idx_outbox_target ON outbox(task, kind, target)`,
    `CREATE INDEX idx_outbox_due ON outbox(kind, due_at)`,
    `CREATE TABLE paused_agents (agent TEXT PRIMARY KEY)`,
    `CREATE TABLE api_keys (
      id TEXT PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      owner TEXT NOT NULL,
      hash TEXT NOT NULL UNIQUE,
      admin BIGINT NOT NULL,
      agents TEXT,
      permission TEXT NOT NULL,
      rate_per_minute BIGINT,
      created_at BIGINT NOT NULL,
      expires_at BIGINT,
      revoked_at BIGINT
    )`,
    // At most one key is in use; the others are kept until nobody has a card of theirs any more.
    `CREATE TABLE card_keys (
      kid TEXT PRIMARY KEY,
      private_jwk TEXT NOT NULL,
      created_at BIGINT NOT NULL,
      retired_at BIGINT
    )`,
    `CREATE UNIQUE INDEX idx_card_keys_in_use ON card_keys((retired_at IS NULL)) WHERE retired_at IS NULL`,
    `CREATE TABLE audit (
      k {key},
      at BIGINT NOT NULL,
      kind TEXT NOT NULL,
      actor TEXT NOT NULL,
      subject TEXT NOT NULL,
      facts TEXT NOT NULL
    )`,
    `CREATE INDEX idx_audit_subject ON audit(subject, k)`,
  ],

  // The unfinished turn of a task moves into its head, which is written with it anyway: a head has a turn while it has a
  // lane. Its indexes contain only what waits or runs.
  [
    ...[
      'lane BIGINT',
      'place BIGINT',
      'number BIGINT',
      'message_seq BIGINT',
      'owner TEXT',
      'call TEXT',
      'queued_at BIGINT',
      'started_at BIGINT',
      'held_at BIGINT',
      'holder TEXT',
      'attempt BIGINT',
      'ref TEXT',
      'turn_ended BIGINT',
    ].map((column) => `ALTER TABLE heads ADD COLUMN ${column}`),
    `UPDATE heads SET
      (lane, place, number, message_seq, owner, call, queued_at, started_at, held_at, holder, attempt, ref, turn_ended) =
      (SELECT lane, place, number, message_seq, owner, call, queued_at, started_at, held_at, holder, attempt, ref, ended
        FROM turns WHERE turns.task = heads.task)
      WHERE task IN (SELECT task FROM turns)`,
    `DROP TABLE turns`,
    `CREATE UNIQUE INDEX idx_turns_place ON heads(lane, place) WHERE lane IS NOT NULL AND holder IS NULL`,
    `CREATE INDEX idx_turns_holder ON heads(holder) WHERE holder IS NOT NULL`,
    `CREATE INDEX idx_turns_queued ON heads(queued_at) WHERE lane IS NOT NULL AND holder IS NULL`,
    `CREATE INDEX idx_turns_owner ON heads(owner) WHERE lane IS NOT NULL AND holder IS NULL`,
  ],

  // Followers: who reacts to the events of a subject (a task, later an objective), and what it has not handled yet.
  [
    // A mask of the classes of events that followers of the task ask for: 1 every event, 2 state changes, 4 the end. A
    // webhook asks for every event, so what was in `push` is right as it is.
    `ALTER TABLE heads RENAME COLUMN push TO follows`,
    // A webhook is `failed` while its last delivery is.
    `ALTER TABLE push_configs ADD COLUMN status TEXT NOT NULL DEFAULT 'active'`,
    // A removed task (direct = 2) is hidden: its id is free, and what it was called stands here.
    `ALTER TABLE tasks ADD COLUMN removed_id TEXT`,
    `CREATE INDEX idx_tasks_removed ON tasks(removed_id, k) WHERE removed_id IS NOT NULL`,
    // What a follower is owed is one range of events, so that its order is kept, and a follower that is unreachable takes
    // no more room than one that answers. Nothing is owed where 'first_seq > last_seq'. 'due_at': when to call it next;
    // NULL: when it is owed something again. 'claim' names the open claim that its row belongs to.
    `CREATE TABLE followers (
      k {lasting-key},
      kind TEXT NOT NULL,
      target TEXT NOT NULL,
      subject_type TEXT NOT NULL,
      subject BIGINT NOT NULL,
      events BIGINT NOT NULL,
      first_seq BIGINT NOT NULL,
      last_seq BIGINT NOT NULL,
      due_at BIGINT,
      attempts BIGINT NOT NULL,
      claim BIGINT
    )`,
    `CREATE UNIQUE INDEX idx_followers_subject ON followers(subject_type, subject, kind, target)`,
    `CREATE INDEX idx_followers_due ON followers(kind, due_at) WHERE due_at IS NOT NULL AND claim IS NULL`,
    `CREATE INDEX idx_followers_target ON followers(kind, target, due_at) WHERE due_at IS NOT NULL AND claim IS NULL`,
    `CREATE INDEX idx_followers_claim ON followers(claim) WHERE claim IS NOT NULL`,
    // At most one open claim per kind and target. Its key is never given twice: with the number of its advances it is the
    // fence of its holder, so an advance whose answer was lost is not done again.
    `CREATE TABLE claims (
      k {lasting-key},
      kind TEXT NOT NULL,
      target TEXT NOT NULL,
      instance TEXT NOT NULL,
      lease_until BIGINT NOT NULL,
      advances BIGINT NOT NULL
    )`,
    `CREATE UNIQUE INDEX idx_claims_target ON claims(kind, target)`,
    `INSERT INTO followers (kind, target, subject_type, subject, events, first_seq, last_seq, due_at, attempts)
      SELECT 'webhook', push_configs.task || '/' || push_configs.id, 'task', push_configs.task, 1,
        COALESCE(outbox.first_seq, 1), COALESCE(outbox.last_seq, 0), outbox.first_seq * 0, COALESCE(outbox.attempts, 0)
      FROM push_configs LEFT JOIN outbox
        ON outbox.task = push_configs.task AND outbox.kind = 'push' AND outbox.target = push_configs.id
      WHERE push_configs.silent = 0 ORDER BY push_configs.task, push_configs.id`,
    `DROP TABLE outbox`,
    // What the kind 'probe' and the condition 'probe' work on: they are there for the tests of every store.
    `CREATE TABLE probes (key TEXT PRIMARY KEY, amount BIGINT NOT NULL)`,
    // How many attempts of the turn were ended by a planned stop of their instance.
    `ALTER TABLE heads ADD COLUMN drains BIGINT NOT NULL DEFAULT 0`,
  ],
];
