/**
 * A service process for the chaos tests: `node service-host.ts CONFIG`. It says `ready PORT` and lives until it is
 * killed, or until the test that started it is gone.
 */
import { once } from 'node:events';
import { flushCompileCache } from 'node:module';

import { pino } from 'pino';

import { createCommandAgent } from '#agents/command/command-agent';
import type { CommandInput } from '#agents/command/command-options';
import type { EngineSettings } from '#engine';
import { openPostgres } from '#store/postgres/index';
import { openSqlite } from '#store/sqlite/index';

import { createSealane } from '../../packages/sealane/src/sealane.ts';
import { openAuditWriter } from './audit-log.ts';
import { createAuditedAgent } from './audited-agent.ts';
import { withoutFence } from './unfenced-store.ts';

export interface HostConfig {
  readonly store:
    | { readonly kind: 'sqlite'; readonly file: string; readonly synchronous?: 'FULL' | 'NORMAL' | 'OFF' }
    | { readonly kind: 'postgres'; readonly url: string; readonly schema: string };
  readonly auditFile: string;
  readonly adminKey: string;
  readonly settings: Partial<EngineSettings>;
  /** Runs of each audited agent at the same time. */
  readonly concurrency: number;
  readonly taskTimeoutMs: number;
  /** An agent `command`, beside `fail` and `retry`, which are named after their recovery. */
  readonly command?: CommandInput;
  /** To see that the checker sees it: runs that meet in one lane, or a store that lets lost runs write. */
  readonly sabotage?: 'split-lanes' | 'no-fence';
}

/** Longer than any test: by its own clock the service never loses its lease. */
const FOR_LONG_MS = 3_600_000;

const config = JSON.parse(process.argv[2] ?? '') as HostConfig;
const { store, concurrency, taskTimeoutMs } = config;
const audit = openAuditWriter(config.auditFile);
const connector = createAuditedAgent(audit, { splitsLanes: config.sabotage === 'split-lanes' });
const storage = store.kind === 'sqlite' ? await openSqlite(store) : await openPostgres(store);

const { leaseMs = 0 } = config.settings;
const isUnfenced = config.sabotage === 'no-fence';

const sealane = await createSealane({
  store: isUnfenced ? withoutFence(storage, leaseMs) : storage,
  agents: {
    fail: { connector, default: true, recovery: 'fail', concurrency, taskTimeoutMs },
    retry: { connector, recovery: 'retry', concurrency, taskTimeoutMs },
    ...(config.command && {
      command: { connector: createCommandAgent(config.command), recovery: 'fail', concurrency, taskTimeoutMs },
    }),
  },
  adminKey: config.adminKey,
  settings: isUnfenced ? { ...config.settings, leaseMs: FOR_LONG_MS } : config.settings,
  ratePerMinute: 1e9,
  log: pino({ level: 'warn' }, pino.destination(2)),
});
await sealane.app.listen({ host: '127.0.0.1', port: 0 });
const address = sealane.app.server.address();
process.stdout.write(`ready ${typeof address === 'object' && address ? address.port : ''}\n`);

// Who is killed writes no cache at exit, and the next start should be fast.
flushCompileCache();

// The other end of this pipe is the test: nothing may outlive it.
process.stdin.resume();
await once(process.stdin, 'end');
process.exit(0);
