/**
 * What clients were told, and what they tried. It outlives every service process, so it is what the store is held
 * against: an answer that a client has read is a promise.
 */
export interface Ledger {
  /** A client is about to send; `order` counts the messages of a lane, which one client sends one after the other. */
  trying(sent: Omit<SentMessage, 'order' | 'taskId'>): SentMessage;
  /** The service has answered that this message is part of this task. */
  accepted(sent: SentMessage, taskId: string): void;
  /** An event read from a stream. */
  event(taskId: string, seq: number, frame: unknown): void;
  /** A state read from an answer. */
  state(taskId: string, state: string): void;
  cancelTried(taskId: string): void;
  /** The service has taken a cancel of an open task: it must end canceled. */
  canceled(taskId: string): void;
  /** Something a client saw that no service may do. */
  problem(text: string): void;
  readonly sent: readonly SentMessage[];
  readonly events: ReadonlyMap<string, ReadonlyMap<number, unknown>>;
  readonly states: ReadonlyMap<string, ReadonlySet<string>>;
  readonly cancels: ReadonlySet<string>;
  readonly cancelsTried: ReadonlySet<string>;
  readonly problems: readonly string[];
}

export interface SentMessage {
  readonly messageId: string;
  readonly lane: string;
  readonly text: string;
  /** Its place among the messages of its lane. */
  readonly order: number;
  /** The task it is an answer to. */
  readonly answers?: string;
  /** Set when the service has said so. */
  readonly taskId: string | undefined;
}

export const createLedger = (): Ledger => {
  const sent: { -readonly [K in keyof SentMessage]: SentMessage[K] }[] = [];
  const orders = new Map<string, number>();
  const events = new Map<string, Map<number, unknown>>();
  const states = new Map<string, Set<string>>();
  const cancels = new Set<string>();
  const cancelsTried = new Set<string>();
  const problems: string[] = [];
  const entryOf = <T>(map: Map<string, T>, key: string, make: () => T): T => {
    const known = map.get(key) ?? make();
    map.set(key, known);
    return known;
  };
  return {
    trying: (message) => {
      const order = (orders.get(message.lane) ?? 0) + 1;
      orders.set(message.lane, order);
      const record = { ...message, order, taskId: undefined };
      sent.push(record);
      return record;
    },
    accepted: (message, taskId) => {
      const record = message as (typeof sent)[number];
      if (record.taskId !== undefined && record.taskId !== taskId) {
        problems.push(`Message ${record.messageId} was said to be task ${record.taskId}, then task ${taskId}.`);
      }
      record.taskId = taskId;
    },
    event: (taskId, seq, frame) => {
      const known = entryOf(events, taskId, () => new Map<number, unknown>());
      if (known.has(seq) && JSON.stringify(known.get(seq)) !== JSON.stringify(frame)) {
        problems.push(`Event ${seq} of task ${taskId} was told twice, differently.`);
      }
      known.set(seq, frame);
    },
    state: (taskId, state) => entryOf(states, taskId, () => new Set()).add(state),
    cancelTried: (taskId) => cancelsTried.add(taskId),
    canceled: (taskId) => cancels.add(taskId),
    problem: (text) => problems.push(text),
    sent,
    events,
    states,
    cancels,
    cancelsTried,
    problems,
  };
};
