import type { AgentName, ClaimedRun, InstanceId, Slot, TaskStore } from '#store';

import type { AgentRegistry } from '../agent-registry.ts';
import { createClaimLoop } from './claim-loop.ts';
import type { Lease } from './lease.ts';
import type { EngineSettings } from '../settings.ts';

/**
 * Hands out the slots of this instance: to admissions that can start at once, and to turns that wait. A new task gets a
 * slot only when no lane of its agent waits for one, so no task overtakes another.
 */
export interface Dispatcher {
  /** Takes a slot for a turn of this agent, or nothing when no slot is free. The caller must `release` it. */
  reserve(agent: AgentName): Slot | undefined;
  /** Takes a slot for a run that is alive already, even beyond the limit. */
  occupy(agent: AgentName): void;
  /** Gives a slot back: its run is over, or its turn has to wait. */
  release(agent: AgentName): void;
  /** A lane may be ready: claims what can run. */
  kick(): void;
  runningOf(agent: AgentName): number;
  /** Replaces the set of paused agents. Claims what can run if an agent was resumed. */
  setPaused(agents: readonly AgentName[]): void;
  start(): void;
  /** Begins no further claim. Resolves when the runs of the claim in flight have begun. */
  stop(): Promise<void>;
}

export const createDispatcher = (options: {
  readonly store: Pick<TaskStore, 'claim'>;
  readonly registry: AgentRegistry;
  readonly lease: Lease;
  readonly settings: EngineSettings;
  readonly now: () => number;
  /** Starts a run that this instance has claimed. Its slot is already taken. */
  readonly onClaimed: (claimed: ClaimedRun, instance: InstanceId) => void;
  readonly onProblem: (error: unknown) => void;
}): Dispatcher => {
  const { store, registry, lease, settings, now } = options;
  const used = new Map<AgentName, number>();
  /** Agents that may have more waiting turns than the last claim could take. */
  const backlog = new Set<AgentName>();
  /** An agent that was just asked moves to the back of the queue, so that no agent starves. */
  const places = new Map<AgentName, number>();
  let lastPlace = 0;
  let usedInAll = 0;
  let paused: ReadonlySet<AgentName> = new Set();
  /** A hint said that a lane may be ready, and no claim has looked since. */
  let isReady = false;
  let poll: NodeJS.Timeout | undefined;

  const take = (agent: AgentName, n: number): void => {
    used.set(agent, (used.get(agent) ?? 0) + n);
    usedInAll += n;
  };
  const moveToTheBack = (agent: AgentName): void => {
    lastPlace += 1;
    places.set(agent, lastPlace);
  };
  const freeOf = (agent: AgentName, concurrency: number): number =>
    Math.max(0, Math.min(concurrency - (used.get(agent) ?? 0), settings.slots - usedInAll));

  /** The agents that have free slots and are not in `idle`, with the number of slots that each could use. */
  const agentsWithRoom = (idle: ReadonlySet<AgentName>): { readonly name: AgentName; readonly room: number }[] =>
    registry
      .list()
      .filter(({ name }) => !paused.has(name) && !idle.has(name))
      .map(({ name, concurrency }) => ({ name, room: freeOf(name, concurrency) }))
      .filter(({ room }) => room > 0)
      .toSorted((one, other) => (places.get(one.name) ?? 0) - (places.get(other.name) ?? 0));

  /** Claims what it can, and adds agents without waiting turns to `idle`. False: there is no agent left to ask for. */
  const claimOnce = async (mayWait: boolean, idle: Set<AgentName>): Promise<boolean> => {
    if (!lease.isValid()) return false;
    // The slots are taken before the call, so that admissions in the meantime do not take them too. A claim takes half
    // of the free slots, so that admissions still find some. It takes one, to look, when no turn is known to wait.
    // Where slots are short, one claim cannot ask for every agent.
    const free: Record<AgentName, number> = {};
    let left = settings.slots - usedInAll;
    for (const { name, room } of agentsWithRoom(idle)) {
      if (left < 1) break;
      const wanted = mayWait || backlog.has(name) ? Math.ceil(room / 2) : 1;
      free[name] = Math.min(wanted, left);
      left -= free[name];
      take(name, free[name]);
      moveToTheBack(name);
    }
    const agents = Object.keys(free);
    if (agents.length === 0) return false;
    const instance = lease.instance;
    let claimed: readonly ClaimedRun[];
    try {
      claimed = await store.claim({ instance, free, at: now(), ownerRunning: settings.ownerRunning });
    } catch (error) {
      // A claim that failed has learned nothing about the backlog.
      for (const agent of agents) take(agent, -(free[agent] ?? 0));
      throw error;
    }
    for (const agent of agents) {
      const got = claimed.filter(({ run }) => run.agent === agent).length;
      take(agent, got - (free[agent] ?? 0));
      if (got > 0 && got === free[agent]) backlog.add(agent);
      else backlog.delete(agent);
      if (got > 0) moveToTheBack(agent);
      else idle.add(agent);
    }
    for (const item of claimed) options.onClaimed(item, instance);
    return true;
  };

  /**
   * The hint may have meant an agent without free slots, for which no claim could ask. Its next free slot leads to a
   * claim.
   */
  const noteFull = (idle: ReadonlySet<AgentName>): void => {
    for (const { name } of registry.list()) if (!paused.has(name) && !idle.has(name)) backlog.add(name);
  };

  const claimAll = async (): Promise<void> => {
    const mayWait = isReady;
    isReady = false;
    const idle = new Set<AgentName>();
    try {
      let isAgentLeft = true;
      while (isAgentLeft && loop.isRunning) isAgentLeft = await claimOnce(mayWait, idle);
      if (mayWait && lease.isValid()) noteFull(idle);
    } catch (error) {
      // The next claim has to look for the same turns.
      isReady ||= mayWait;
      throw error;
    }
  };
  const loop = createClaimLoop({
    claim: claimAll,
    longestPauseMs: settings.pollMs,
    onProblem: options.onProblem,
  });

  const kick = (isHint: boolean): void => {
    isReady ||= isHint;
    loop.kick();
  };

  return {
    reserve: (agent) => {
      const entry = registry.find(agent);
      if (!entry || !loop.isRunning || paused.has(agent) || backlog.has(agent) || !lease.isValid()) return undefined;
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
      // With a limit per owner, a lane that a claim has skipped may run now, and no hint tells of it.
      if (backlog.size > 0 || settings.ownerRunning > 0) kick(true);
    },
    kick: () => kick(true),
    runningOf: (agent) => used.get(agent) ?? 0,
    setPaused: (agents) => {
      const before = [...paused];
      paused = new Set(agents);
      // No other change of the set lets a turn run.
      if (before.some((agent) => !paused.has(agent))) kick(true);
    },
    start: () => {
      // Polls as a fallback for lost notifications and for retries that are due.
      poll = setInterval(() => kick(false), settings.pollMs);
      poll.unref();
      isReady = true;
      loop.start();
    },
    stop: () => {
      clearInterval(poll);
      return loop.stop();
    },
  };
};
