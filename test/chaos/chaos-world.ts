import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { type A2aClient, createA2aClient } from './a2a-client.ts';
import { monotonicMs } from './audit-log.ts';
import { checkInvariants } from './check-invariants.ts';
import { createDisturbances, type Disturbances } from './disturbances.ts';
import type { Evidence, Memory } from './evidence.ts';
import { createLedger, type Ledger } from './ledger.ts';
import { chaosSeed, type SeededRandom, seededRandom } from './seeded-random.ts';
import type { HostConfig } from './service-host.ts';
import { type ServiceProcess, startService } from './service-process.ts';

/** A folder, a store, the services on it, and everything that is known about what they did and promised. */
export interface ChaosWorld extends AsyncDisposable {
  readonly folder: string;
  readonly random: SeededRandom;
  readonly ledger: Ledger;
  readonly disturbances: Disturbances;
  readonly services: readonly ServiceProcess[];
  /** Starts a service; `more` differs from process to process, as the way to the database may. */
  start(more?: StartOptions): ServiceProcess;
  clientOf(service: ServiceProcess): Promise<A2aClient>;
  /** Any service that is up; waits until one is. */
  readonly target: () => Promise<A2aClient>;
  /** Waits until every task has ended or asks something, or the time is up: then `check` says what is stuck. */
  settle(withinMs: number): Promise<void>;
  /** Throws an error that lists every violation. */
  check(): Promise<Evidence>;
  say(text: string): void;
}

export interface StartOptions {
  readonly store?: HostConfig['store'];
  readonly env?: Readonly<Record<string, string>>;
}

export interface WorldOptions {
  readonly name: string;
  readonly store: (folder: string) => HostConfig['store'];
  readonly configOf?: (folder: string) => Partial<HostConfig>;
  readonly mayTimeOut?: boolean;
  /** Broken on purpose: when promises are broken, nothing is kept to look at. */
  readonly isSabotaged?: boolean;
}

const ADMIN_KEY = 'chaos-admin-key-0123456789abcdefghijklmnop';
const SHOWN = 20;

/** Leases as short as the runner's margin of a second allows on a busy machine; a fast poll; retries at once. */
export const CHAOS_SETTINGS: HostConfig['settings'] = {
  leaseMs: 3000,
  renewMs: 500,
  pollMs: 500,
  retryMs: 50,
  cancelGraceMs: 5000,
};

export const createWorld = async ({
  name,
  store,
  configOf,
  mayTimeOut = false,
  isSabotaged = false,
}: WorldOptions): Promise<ChaosWorld> => {
  const folder = await mkdtemp(join(tmpdir(), 'sealane-chaos-'));
  const config = configOf?.(folder);
  const random = seededRandom(name);
  const ledger = createLedger();
  const disturbances = createDisturbances();
  const memory: Memory = new Map();
  const auditFile = join(folder, 'audit.jsonl');
  const services: ServiceProcess[] = [];
  const beganAt = monotonicMs();
  let isKept = false;
  let started = Promise.withResolvers<void>();
  const say = (text: string): void => {
    const seconds = ((monotonicMs() - beganAt) / 1000).toFixed(1);
    process.stdout.write(`[chaos ${chaosSeed}] ${name}, ${seconds} s: ${text}\n`);
  };

  const start = ({ store: own, env }: StartOptions = {}): ServiceProcess => {
    const service = startService({
      name: `service-${services.length + 1}`,
      folder,
      disturbances,
      config: {
        store: own ?? store(folder),
        auditFile,
        adminKey: ADMIN_KEY,
        concurrency: 32,
        taskTimeoutMs: 120_000,
        ...config,
        settings: { ...CHAOS_SETTINGS, ...config?.settings },
      },
      ...(env && { env }),
    });
    services.push(service);
    started.resolve();
    started = Promise.withResolvers();
    return service;
  };
  const clientOf = async (service: ServiceProcess): Promise<A2aClient> =>
    createA2aClient((await service.ready).url, ADMIN_KEY);
  const target = async (): Promise<A2aClient> => {
    for (;;) {
      const alive = services.filter((service) => service.isAlive);
      if (alive.length === 0) await started.promise;
      else {
        const client = await clientOf(random.pick(alive)).catch(() => undefined);
        if (client) return client;
        // It was killed before it was ready, and the news of its end are still on their way.
        await delay(10);
      }
    }
  };

  const openTasks = async (): Promise<number> => {
    const answer = await (await target()).admin('/tasks?state=submitted,working&limit=1');
    return ((await answer.json()) as { readonly total: number }).total;
  };

  return {
    folder,
    random,
    ledger,
    disturbances,
    services,
    start,
    clientOf,
    target,
    say,
    settle: async (withinMs) => {
      const until = monotonicMs() + withinMs;
      while (monotonicMs() < until && (await openTasks().catch(() => 1)) > 0) await delay(50);
    },
    check: async () => {
      const sources = { auditFile, ledger, disturbances, memory, mayTimeOut };
      const { violations, evidence } = await checkInvariants(await target(), sources);
      if (violations.length === 0) return evidence;
      isKept = !isSabotaged;
      await writeFile(join(folder, 'violations.txt'), violations.join('\n'));
      const shown = violations.slice(0, SHOWN).map((violation) => `  - ${violation}`);
      throw new Error(
        `${violations.length} promises were broken in "${name}" (CHAOS_SEED=${chaosSeed}` +
          `${isKept ? `; what is left lies in ${folder}` : ''}):\n${shown.join('\n')}`,
      );
    },
    [Symbol.asyncDispose]: async () => {
      for (const service of services) service.resume();
      await Promise.all(services.map((service) => service.kill()));
      if (!isKept) await rm(folder, { recursive: true, force: true });
    },
  };
};
