/** A service process in front of the `openclaw` program: `node cli-host.ts CONFIG`. It says `ready URL` and lives until it is killed. */
import { createOpenclawCliAgent } from '#agents/openclaw/cli/openclaw-cli-agent';
import type { CliInput } from '#agents/openclaw/cli/cli-options';

import { createSealane } from '../../packages/sealane/src/sealane.ts';

export interface CliHostConfig {
  readonly file: string;
  readonly adminKey: string;
  readonly connector: CliInput;
}

const config = JSON.parse(process.argv[2] ?? '') as CliHostConfig;
const sealane = await createSealane({
  store: `sqlite:${config.file}`,
  agents: { main: { connector: createOpenclawCliAgent(config.connector), default: true } },
  adminKey: config.adminKey,
  settings: { leaseMs: 2000, renewMs: 500 },
});
const url = await sealane.app.listen({ host: '127.0.0.1', port: 0 });
process.stdout.write(`ready ${url}\n`);
process.stdin.on('end', () => process.exit(0)).resume();
