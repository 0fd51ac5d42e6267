import type { AgentName, ClaimedRun, InstanceId, Slot, TaskStore } from '#store';

import type { AgentRegistry } from './agent-registry.ts';
import type { Lease } from './lease.ts';
import type { EngineSettings } from './settings.ts';

/**
 * Hands out this instance's slots: one to an admission that can start at once, the others to turns that wait. A new
 * task gets a slot only when no lane of its agent waits for one, so nobody overtakes.
 */
export interface Dispatcher {
  /** A slot for a turn of this agent, or nothing. It must be used by `occupy` or given back by `giveBack`. */
  slotFor(agent: AgentName): Slot | undefined;
  giveBack(agent: AgentName): void;
  /** A run that was not claimed here occupies a slot all the same. */
  seat(agent: AgentName): void;
  /** Some lane may be ready, or a slot is free: claim what can run. */
  kick(): void;
  /** A run of this agent is over. */
  vacate(agent: AgentName): void;
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
  /** Agents of whom more turns may be waiting than the last claim could take. */
  const backlog = new Set<AgentName>();
  /**
   * The order in which agents are asked for. Who was goes behind the others, and who got a slot behind those who did
   * not, so that none starves.
   */
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

  /** The agents that there is room for, but for those `inVain`; with the number of slots that each could use. */
  const agentsWithRoom = (inVain: ReadonlySet<AgentName>): { readonly name: AgentName; readonly room: number }[] =>
    registry
      .list()
      .filter(({ name }) => !paused.has(name) && !inVain.has(name))
      .map(({ name, concurrency }) => ({ name, room: freeOf(name, concurrency) }))
      .filter(({ room }) => room > 0)
      .toSorted((one, other) => (places.get(one.name) ?? 0) - (places.get(other.name) ?? 0));

  /** Claims what it can; an agent that nothing waits for is `inVain` from then on. False: nobody is left to ask for. */
  const claimOnce = async (mayWait: boolean, inVain: Set<AgentName>): Promise<boolean> => {
    if (!lease.isValid()) return false;
    // Reserved before the call, so that admissions meanwhile do not take them too. Half of what is free, so that they
    // still find some; and when nobody is known to wait, one, to look. Where slots are short, not all can be asked for
    // at once.
    const free: Record<AgentName, number> = {};
    let left = settings.slots - usedInAll;
    for (const { name, room } of agentsWithRoom(inVain)) {
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
        else inVain.add(agent);
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
        const inVain = new Set<AgentName>();
        let isAnybodyLeft = true;
        while (isAnybodyLeft && !isStopped) isAnybodyLeft = await claimOnce(mayWait, inVain);
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
    slotFor: (agent) => {
      const entry = registry.find(agent);
      if (!entry || isStopped || paused.has(agent) || backlog.has(agent) || !lease.isValid()) return undefined;
      if (freeOf(agent, entry.concurrency) < 1) {
        backlog.add(agent);
        return undefined;
      }
      take(agent, 1);
      return { instance: lease.instance };
    },
    giveBack: (agent) => {
      take(agent, -1);
      if (backlog.has(agent)) kick(true);
    },
    seat: (agent) => take(agent, 1),
    vacate: (agent) => {
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
      // Behind lost hints, and for retries whose time has come.
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
