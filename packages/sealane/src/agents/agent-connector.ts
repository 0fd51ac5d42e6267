import type { Artifact, JsonObject, Message, State, TaskSnapshot } from '#domain';

/** Who asks, where: what a connector may build its session key from. */
export interface SessionScope {
  /** The user, not the key, that the task belongs to. */
  readonly owner: string;
  readonly tenant: string;
  readonly agent: string;
  readonly contextId: string;
}

/** The agent's own conversation. It is the lane's key: equal keys never run at the same time. */
export type SessionKey = string;

/** How to find a run again after a crash: whatever the connector needs to stop or re-attach it, as plain JSON. */
export type RunRef = JsonObject;

/** One message to be worked on. */
export interface Turn {
  readonly taskId: string;
  readonly contextId: string;
  readonly owner: string;
  readonly tenant: string;
  readonly agent: string;
  readonly session: SessionKey;
  /** Counts the turns of the task from 1. */
  readonly number: number;
  readonly message: Message;
  /** Earlier messages of the task, oldest first, without `message`. For agents that keep no session of their own. */
  history(): Promise<readonly Message[]>;
  /** The task as it was when `message` came to it; nothing where it began with it. */
  before(): Promise<SeenTask | undefined>;
  /** The tasks that `message` refers to, without those that have been deleted since. */
  references(): Promise<readonly SeenTask[]>;
  /** What came in with the call, merged from task and message. */
  readonly metadata: JsonObject;
  /** Extensions of A2A that the agent declares and the caller has asked for, by their addresses. */
  readonly extensions: readonly string[];
  /** The media types that the caller can take as an answer; empty: it did not say. */
  readonly outputModes: readonly string[];
  /** This run's id, and those of the runs that led to it. An agent that calls Sealane hands them on. */
  readonly runId: string;
  readonly ancestors: readonly string[];
  readonly traceparent?: string;
  readonly permission: Permission;
}

/** A task as an agent may look at it. */
export interface SeenTask extends TaskSnapshot {
  readonly id: string;
  readonly contextId: string;
}

/** How much a caller may do through an agent; least first. */
export type Permission = 'read-only' | 'guarded' | 'workspace' | 'agent-default';

/** What a run may say while it works. */
export type RunEvent =
  | {
      readonly kind: 'artifact';
      readonly artifact: Artifact;
      readonly append?: boolean;
      readonly lastChunk?: boolean;
      readonly metadata?: JsonObject;
    }
  | { readonly kind: 'status'; readonly message?: Message; readonly metadata?: JsonObject }
  /** A question from inside a live run: it keeps the lane, and the answer comes through `inbox`. */
  | { readonly kind: 'ask'; readonly state: 'input-required' | 'auth-required'; readonly message: Message };

/** How a turn ended, as the agent sees it. */
export interface TurnEnd {
  readonly state: Extract<State, 'completed' | 'failed' | 'canceled' | 'rejected' | 'input-required' | 'auth-required'>;
  readonly message?: Message;
  readonly metadata?: JsonObject;
  /** Only with `failed`: another attempt could succeed. */
  readonly retryable?: boolean;
  /** Only after an abort for `shutdown`: the work goes on without us, and this is not written as its end. */
  readonly goesOn?: true;
  readonly reason?: string;
  /** Only with `failed`, and for the operator's log alone: what callers must not read, such as paths and settings. */
  readonly detail?: string;
}

/** What a connector can do with the engine while it runs a turn. */
export interface RunIo {
  /** Aborts on cancel, timeout, lost lease and shutdown; `signal.reason` says which. */
  readonly signal: AbortSignal;
  /** Counts from 1; above 1 an earlier attempt was lost. */
  readonly attempt: number;
  /** Durable when it resolves. Call it before the first side effect. */
  remember(ref: RunRef): Promise<void>;
  /** Resolves when there is room for more, which may be before the event is durable; rejects when the lease is lost. */
  emit(event: RunEvent): Promise<void>;
  /** Answers and steering for this run, in order. Ends when the run is told to stop. */
  readonly inbox: AsyncIterable<Message>;
  /** A message of the agent, with the ids that the protocol wants. */
  say(text: string): Message;
}

/** What a connector found out before a run, for that run. Only the connector looks into it. */
export type LookAhead = object;

/** A command of a run that waits until an operator allows or denies it. */
export interface Approval {
  readonly id: string;
  readonly taskId: string;
  readonly command: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  readonly expiresAt: number;
}

export type ApprovalDecision = 'allow-once' | 'deny';

/** The operator's word on what the runs of an agent may do. Callers never get here. */
export interface Approvals {
  /** What waits now, of runs for tasks of ours and nobody else's. */
  list(): Promise<readonly Approval[]>;
  /** False: nothing of ours with this id waits, or not any more. */
  resolve(id: string, decision: ApprovalDecision): Promise<boolean>;
}

export interface Health {
  readonly ok: boolean;
  /** For people: what is wrong, and what to do about it. */
  readonly detail: string;
}

/**
 * The port to an agent. A connector reports and the engine decides.
 *
 * - `run` resolves only when the work is over; after an abort, only when it is dead. It should not throw: what it
 *   throws becomes `failed` with the error's message.
 * - A run that ends because of an abort answers `canceled`, or throws. After the abort of a `shutdown`, any other end
 *   counts as the agent's own and is stored, if it comes within the grace period.
 * - `stop` is idempotent, works from any instance, and answers `unknown` when it cannot tell.
 * - `session` is pure and injective: two scopes that differ in a part that matters get different keys.
 * - A connector with `reattach` may let go of a run that is aborted for a `shutdown`: it resolves with `goesOn`, and
 *   whoever comes next takes the run up by what was remembered.
 */
export interface AgentConnector {
  /** The connector's word in the configuration, for logs and spans. */
  readonly kind: string;
  session(scope: SessionScope): SessionKey;
  run(turn: Turn, io: RunIo, ahead?: LookAhead): Promise<TurnEnd>;
  /**
   * A turn of this session is on its way into the store and begins at once if its lane is free: what the run has to
   * know of the session can be asked for meanwhile. The answer is handed to that run and to no other, so nothing that
   * the lane did can lie between the two. Changes nothing.
   */
  lookAhead?(session: SessionKey): LookAhead | undefined;
  stop(ref: RunRef, signal: AbortSignal): Promise<'dead' | 'unknown'>;
  /** Takes up a run that went on while nobody was listening. */
  reattach?(ref: RunRef, turn: Turn, io: RunIo): Promise<TurnEnd | 'gone'>;
  /** True: the answer to this message is a Message, not a task. */
  answersDirectly?(message: Message): boolean;
  /** True: a message to a working task goes into `inbox`. */
  readonly steerable?: boolean;
  /** Only where the configuration gives us the right to decide. */
  readonly approvals?: Approvals;
  health?(): Promise<Health>;
  close(): Promise<void>;
}
