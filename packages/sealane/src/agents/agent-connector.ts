import type { Artifact, JsonObject, Message, State } from '#domain';

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
  /** What came in with the call, merged from task and message. */
  readonly metadata: JsonObject;
  /** This run's id, and those of the runs that led to it. An agent that calls Sealane hands them on. */
  readonly runId: string;
  readonly ancestors: readonly string[];
  readonly traceparent?: string;
  readonly permission: Permission;
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
  readonly reason?: string;
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
  /** Answers and steering for this run, in order. */
  readonly inbox: AsyncIterable<Message>;
  /** A message of the agent, with the ids that the protocol wants. */
  say(text: string): Message;
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
 * - `stop` is idempotent, works from any instance, and answers `unknown` when it cannot tell.
 * - `session` is pure and injective: two scopes that differ in a part that matters get different keys.
 */
export interface AgentConnector {
  /** The connector's word in the configuration, for logs and spans. */
  readonly kind: string;
  session(scope: SessionScope): SessionKey;
  run(turn: Turn, io: RunIo): Promise<TurnEnd>;
  stop(ref: RunRef, signal: AbortSignal): Promise<'dead' | 'unknown'>;
  /** Takes up a run that went on while nobody was listening. */
  reattach?(ref: RunRef, turn: Turn, io: RunIo): Promise<TurnEnd | 'gone'>;
  /** True: the answer to this message is a Message, not a task. */
  answersDirectly?(message: Message): boolean;
  /** True: a message to a working task goes into `inbox`. */
  readonly steerable?: boolean;
  health?(): Promise<Health>;
  close(): Promise<void>;
}
