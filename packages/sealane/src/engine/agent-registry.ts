import type { AgentConnector } from '#agents';
import { type JsonObject, SealaneError } from '#domain';

/** How an agent is reached, run and shown. */
export interface AgentEntry {
  readonly name: string;
  readonly connector: AgentConnector;
  readonly isDefault: boolean;
  /** Shown on the public card. */
  readonly isPublic: boolean;
  /** Runs at the same time on this instance. */
  readonly concurrency: number;
  /** Ends a turn's work, across attempts. */
  readonly taskTimeoutMs: number;
  /** What becomes of a run whose instance died, when it cannot be re-attached. */
  readonly recovery: 'fail' | 'retry';
  readonly maxAttempts: number;
  /** `message`: every answer is a Message instead of a task. */
  readonly reply: 'task' | 'message';
  readonly title: string;
  readonly description: string;
  readonly skills: readonly AgentSkill[];
  /** Media types it takes and gives; `*` stands for any part of one. */
  readonly inputModes: readonly string[];
  readonly outputModes: readonly string[];
  /** Extensions of A2A that the agent itself understands. */
  readonly extensions: readonly AgentExtension[];
}

export interface AgentExtension {
  readonly uri: string;
  readonly description?: string;
  /** Callers that do not ask for it are refused. */
  readonly required?: boolean;
  readonly params?: JsonObject;
}

export interface AgentSkill {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly examples?: readonly string[];
}

/** The agents by name. They can be exchanged while runs go on: a run keeps the entry it started with. */
export interface AgentRegistry {
  list(): readonly AgentEntry[];
  find(name: string): AgentEntry | undefined;
  /** The agent that messages without a name go to, if there is one. */
  findDefault(): AgentEntry | undefined;
  /** The agent of that name, or the default one; throws `agent-not-found`, which names no agents but those `allowed`. */
  require(name: string | undefined, allowed?: readonly string[] | null): AgentEntry;
  replaceAll(entries: readonly AgentEntry[]): void;
  onChange(listener: () => void): Disposable;
}

const defaultOf = (entries: readonly AgentEntry[]): AgentEntry | undefined =>
  entries.find(({ isDefault }) => isDefault) ?? (entries.length === 1 ? entries[0] : undefined);

/** Whether a key that is limited to these agents (null: to none) may use that one. */
export const mayUse = (allowed: readonly string[] | null, name: string): boolean =>
  allowed === null || allowed.includes(name);

export const createAgentRegistry = (initial: readonly AgentEntry[]): AgentRegistry => {
  let byName = new Map(initial.map((entry) => [entry.name, entry]));
  let fallback = defaultOf(initial);
  const listeners = new Set<() => void>();
  const names = (allowed: readonly string[] | null): string =>
    [...byName.keys()].filter((name) => mayUse(allowed, name)).join(', ') || 'none';
  return {
    list: () => [...byName.values()],
    find: (name) => byName.get(name),
    findDefault: () => fallback,
    require: (name, allowed = null) => {
      if (name !== undefined) {
        const entry = byName.get(name);
        if (entry) return entry;
        throw new SealaneError('agent-not-found', `There is no agent "${name}". Known agents: ${names(allowed)}.`, {
          facts: { agent: name },
        });
      }
      if (fallback) return fallback;
      throw new SealaneError(
        'agent-not-found',
        `No agent is marked as default: name one in metadata.executor or call /agents/<name>. Known agents: ${names(allowed)}.`,
      );
    },
    replaceAll: (entries) => {
      byName = new Map(entries.map((entry) => [entry.name, entry]));
      fallback = defaultOf(entries);
      for (const listener of listeners) listener();
    },
    onChange: (listener) => {
      listeners.add(listener);
      return { [Symbol.dispose]: () => listeners.delete(listener) };
    },
  };
};
