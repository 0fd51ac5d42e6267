/** A service process in front of a Gateway: `node sealane-host.ts CONFIG`. It says `ready URL` and lives until it is killed. */
import { createOpenclawGatewayAgent } from '#agents/openclaw/gateway/openclaw-gateway-agent';
import type { GatewayInput } from '#agents/openclaw/gateway/gateway-options';

import { createSealane } from '../../packages/sealane/src/sealane.ts';

export interface HostConfig {
  readonly file: string;
  readonly adminKey: string;
  readonly connector: GatewayInput;
}

const config = JSON.parse(process.argv[2] ?? '') as HostConfig;
const sealane = await createSealane({
  store: `sqlite:${config.file}`,
  agents: { main: { connector: createOpenclawGatewayAgent(config.connector), default: true } },
  adminKey: config.adminKey,
  ratePerMinute: 1e9,
  // Short leases, so that whoever is started after a crash soon takes the runs over.
  settings: { leaseMs: 2000, renewMs: 500, pollMs: 500, cancelGraceMs: 20_000 },
});
const url = await sealane.app.listen({ host: '127.0.0.1', port: 0 });
process.stdout.write(`ready ${url}\n`);
process.stdin.on('end', () => process.exit(0)).resume();
