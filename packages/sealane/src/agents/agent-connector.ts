import type { Artifact, JsonObject, Message, State, TaskSnapshot } from '#domain';

/** What a connector may build its session key from: who asks, which agent, and in which context. */
export interface SessionScope {
  /** The user that the task belongs to, not the API key. */
  readonly owner: string;
  readonly tenant: string;
  readonly agent: string;
  readonly contextId: string;
}

/** Names the agent's own conversation. It is the key of the lane: turns with equal keys never run at the same time. */
export type SessionKey = string;

/** What the connector needs to stop or re-attach a run after a crash, as plain JSON. */
export type RunRef = JsonObject;

/** One message for the agent to work on. */
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
  /** The task as it was when `message` arrived; undefined if the task began with it. */
  before(): Promise<SeenTask | undefined>;
  /** The tasks that `message` refers to, without those that were deleted in the meantime. */
  references(): Promise<readonly SeenTask[]>;
  /** The metadata of the task, of the call and of the message in one object. The last one wins. */
  readonly metadata: JsonObject;
  /** The URIs of the extensions of A2A that the agent declares and the caller asked for. */
  readonly extensions: readonly string[];
  /** The media types that the caller accepts as an answer. Empty: the caller named none. */
  readonly outputModes: readonly string[];
  /** The id of this run, and the ids of the runs that led to it. An agent that calls Sealane passes them on. */
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

/** What a run may report while it works. */
export type RunEvent =
  | {
      readonly kind: 'artifact';
      readonly artifact: Artifact;
      readonly append?: boolean;
      readonly lastChunk?: boolean;
      readonly metadata?: JsonObject;
    }
  | { readonly kind: 'status'; readonly message?: Message; readonly metadata?: JsonObject }
  /** A question of a live run. The run keeps its lane, and the answer arrives in `inbox`. */
  | { readonly kind: 'ask'; readonly state: 'input-required' | 'auth-required'; readonly message: Message };

/** How a turn ended, as the agent sees it. */
export interface TurnEnd {
  readonly state: Extract<State, 'completed' | 'failed' | 'canceled' | 'rejected' | 'input-required' | 'auth-required'>;
  readonly message?: Message;
  readonly metadata?: JsonObject;
  /** Only with `failed`: another attempt could succeed. */
  readonly retryable?: boolean;
  /** Only after an abort for `shutdown`: the work continues without us, so the engine does not write this end. */
  readonly goesOn?: true;
  readonly reason?: string;
  /** Only with `failed`, and only for the operator's log: what callers must not read, such as paths and settings. */
  readonly detail?: string;
}

/** What the engine offers to a connector while it runs a turn. */
export interface RunIo {
  /** Aborts on cancel, timeout, lost lease and shutdown; `signal.reason` says which. */
  readonly signal: AbortSignal;
  /** Counts the attempts at the turn from 1. Above 1: an earlier attempt did not end the turn. */
  readonly attempt: number;
  /** Durable when it resolves. Call it before the first side effect. */
  remember(ref: RunRef): Promise<void>;
  /**
   * Resolves when there is room for more (back-pressure), which may be before the event is durable. Rejects when the
   * run can report nothing more, for example because its lease is lost.
   */
  emit(event: RunEvent): Promise<void>;
  /** Answers and steering messages for this run, in order. Ends with the run, or when the run is aborted. */
  readonly inbox: AsyncIterable<Message>;
  /** Makes a message of the agent, with the ids that the protocol requires. */
  say(text: string): Message;
}

/** What a connector learned before a run, for that run. Only the connector interprets it. */
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

/** Lets the operator decide what the runs of an agent may do. Callers have no access to it. */
export interface Approvals {
  /** The commands that wait now. Only those of runs for tasks of this service. */
  list(): Promise<readonly Approval[]>;
  /** False: no command of this service waits under this id, or not any more. */
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
 *   counts as the agent's own. The engine stores it if it comes within the grace period.
 * - `stop` is idempotent, works from any instance, and answers `unknown` when it cannot tell.
 * - `session` is pure and injective: two scopes that differ in a part that matters get different keys.
 * - A connector with `reattach` may let go of a run that is aborted for a `shutdown`: it resolves with `goesOn`, and
 *   the next instance re-attaches the run by what was remembered.
 */
export interface AgentConnector {
  /** The connector's name in the configuration, in logs and in spans. */
  readonly kind: string;
  session(scope: SessionScope): SessionKey;
  run(turn: Turn, io: RunIo, ahead?: LookAhead): Promise<TurnEnd>;
  /**
   * Called while a turn of this session is on its way into the store. The turn begins at once if its lane is free, so
   * the connector may ask in parallel for what the run has to know about the session. The engine hands the answer to
   * that run and to no other, so no other run of the lane can come between the two. Changes nothing.
   */
  lookAhead?(session: SessionKey): LookAhead | undefined;
  stop(ref: RunRef, signal: AbortSignal): Promise<'dead' | 'unknown'>;
  /** Re-attaches a run that continued while no instance listened to it. */
  reattach?(ref: RunRef, turn: Turn, io: RunIo): Promise<TurnEnd | 'gone'>;
  /** True: the answer to this message is a Message, not a task. */
  answersDirectly?(message: Message): boolean;
  /** True: a message to a working task goes into `inbox`. */
  readonly steerable?: boolean;
  /** Present only if the configuration gives Sealane the right to decide. */
  readonly approvals?: Approvals;
  health?(): Promise<Health>;
  close(): Promise<void>;
}
