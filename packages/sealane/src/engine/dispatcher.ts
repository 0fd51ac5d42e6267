import type { AgentName, ClaimedRun, InstanceId, Slot, TaskStore } from '#store';

import type { AgentRegistry } from './agent-registry.ts';
import type { Lease } from './lease.ts';
import type { EngineSettings } from './settings.ts';

/**
 * Hands out this instance's slots: one to an admission that can start at once, the others to turns that wait. A new
 * task gets a slot only when no lane of its agent waits for one, so nobody overtakes.
 */
export interface Dispatcher {
  /** Takes a slot for a turn of this agent; nothing when none is free. The caller must `release` it. */
  reserve(agent: AgentName): Slot | undefined;
  /** Takes a slot for a run that goes on in any case, even beyond the limit. */
  occupy(agent: AgentName): void;
  /** Gives a slot back: its run is over, or its turn has to wait. */
  release(agent: AgentName): void;
  /** Some lane may be ready, or a slot is free: claim what can run. */
  kick(): void;
  runningOf(agent: AgentName): number;
  setPaused(agents: readonly AgentName[]): void;
  start(): void;
  /** Claims nothing more; resolves when what was being claimed has begun. */
  stop(): Promise<void>;
}

export const createDispatcher = (options: {
  readonly store: TaskStore;
  readonly registry: AgentRegistry;
  readonly lease: Lease;
  readonly settings: EngineSettings;
  readonly now: () => number;
  /** The run is ours: start it. The slot is already taken. */
  readonly onClaimed: (claimed: ClaimedRun, instance: InstanceId) => void;
  readonly onProblem: (error: unknown) => void;
}): Dispatcher => {
  const { store, registry, lease, settings, now } = options;
  const used = new Map<AgentName, number>();
  /** Agents for which more turns may be waiting than the last claim could take. */
  const backlog = new Set<AgentName>();
  /** An agent that was just asked moves to the back of the queue, so that no agent starves. */
  const places = new Map<AgentName, number>();
  let lastPlace = 0;
  let usedInAll = 0;
  let paused: ReadonlySet<AgentName> = new Set();
  let isStopped = true;
  let claiming: Promise<void> | undefined;
  let isKicked = false;
  let isReady = false;
  let poll: NodeJS.Timeout | undefined;

  const take = (agent: AgentName, n: number): void => {
    used.set(agent, (used.get(agent) ?? 0) + n);
    usedInAll += n;
  };
  const goToTheEnd = (agent: AgentName): void => {
    lastPlace += 1;
    places.set(agent, lastPlace);
  };
  const freeOf = (agent: AgentName, concurrency: number): number =>
    Math.max(0, Math.min(concurrency - (used.get(agent) ?? 0), settings.slots - usedInAll));

  /** The agents with free slots, without those of `idle`; with the number of slots that each could use. */
  const agentsWithRoom = (idle: ReadonlySet<AgentName>): { readonly name: AgentName; readonly room: number }[] =>
    registry
      .list()
      .filter(({ name }) => !paused.has(name) && !idle.has(name))
      .map(({ name, concurrency }) => ({ name, room: freeOf(name, concurrency) }))
      .filter(({ room }) => room > 0)
      .toSorted((one, other) => (places.get(one.name) ?? 0) - (places.get(other.name) ?? 0));

  /** Claims what it can, and adds agents without waiting turns to `idle`. False: no agent is left to ask for. */
  const claimOnce = async (mayWait: boolean, idle: Set<AgentName>): Promise<boolean> => {
    if (!lease.isValid()) return false;
    // Reserved before the call, so that admissions meanwhile do not take them too. Half of what is free, so that they
    // still find some; and when nobody is known to wait, one, to look. Where slots are short, not all can be asked for
    // at once.
    const free: Record<AgentName, number> = {};
    let left = settings.slots - usedInAll;
    for (const { name, room } of agentsWithRoom(idle)) {
      if (left < 1) break;
      const wanted = mayWait || backlog.has(name) ? Math.ceil(room / 2) : 1;
      free[name] = Math.min(wanted, left);
      left -= free[name];
      take(name, free[name]);
      goToTheEnd(name);
    }
    const agents = Object.keys(free);
    if (agents.length === 0) return false;
    const instance = lease.instance;
    let claimed: readonly ClaimedRun[] = [];
    try {
      claimed = await store.claim({ instance, free, at: now(), ownerRunning: settings.ownerRunning });
    } finally {
      for (const agent of agents) {
        const got = claimed.filter(({ run }) => run.agent === agent).length;
        take(agent, got - (free[agent] ?? 0));
        if (got > 0 && got === free[agent]) backlog.add(agent);
        else backlog.delete(agent);
        if (got > 0) goToTheEnd(agent);
        else idle.add(agent);
      }
    }
    for (const item of claimed) options.onClaimed(item, instance);
    return true;
  };

  const claimAll = async (): Promise<void> => {
    try {
      do {
        isKicked = false;
        const mayWait = isReady;
        isReady = false;
        const idle = new Set<AgentName>();
        let isAnybodyLeft = true;
        while (isAnybodyLeft && !isStopped) isAnybodyLeft = await claimOnce(mayWait, idle);
      } while (isKicked && !isStopped);
    } catch (error) {
      options.onProblem(error);
    }
  };

  const kick = (isHint: boolean): void => {
    isKicked = true;
    isReady ||= isHint;
    if (!isStopped) claiming ??= claimAll().finally(() => (claiming = undefined));
  };

  return {
    reserve: (agent) => {
      const entry = registry.find(agent);
      if (!entry || isStopped || paused.has(agent) || backlog.has(agent) || !lease.isValid()) return undefined;
      if (freeOf(agent, entry.concurrency) < 1) {
        backlog.add(agent);
        return undefined;
      }
      take(agent, 1);
      return { instance: lease.instance };
    },
    occupy: (agent) => take(agent, 1),
    release: (agent) => {
      take(agent, -1);
      // With a limit per owner, a lane that was passed over may run now, and nobody else will say so.
      if (backlog.size > 0 || settings.ownerRunning > 0) kick(true);
    },
    kick: () => kick(true),
    runningOf: (agent) => used.get(agent) ?? 0,
    setPaused: (agents) => {
      paused = new Set(agents);
      kick(false);
    },
    start: () => {
      isStopped = false;
      // Polls as a fallback for lost notifications and for retries that are due.
      poll = setInterval(() => kick(false), settings.pollMs);
      poll.unref();
      kick(true);
    },
    stop: () => {
      isStopped = true;
      clearInterval(poll);
      return claiming ?? Promise.resolve();
    },
  };
};
