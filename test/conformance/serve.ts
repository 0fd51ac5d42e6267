/**
 * `npm run conformance:serve -- --port P --profile full|nocaps|reqext`: a Sealane with the scripted agent, for the
 * official conformance kits. docs/conformance.md says how to run them against it.
 */
import { parseArgs } from 'node:util';

import { isProfile, openConformanceService, PROFILES } from './conformance-service.ts';

const USAGE = `npm run conformance:serve -- [options]

  --port P           where HTTP is served (7421)
  --grpc-port G      where gRPC is served (none)
  --profile NAME     ${Object.keys(PROFILES).join(', ')} (full)
  --protocol V       the version of the kit: 1.0 or 0.3 (1.0)
`;

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '7421' },
    'grpc-port': { type: 'string' },
    profile: { type: 'string', default: 'full' },
    protocol: { type: 'string', default: '1.0' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

const portOf = (text: string | undefined): number | undefined => {
  if (text === undefined) return undefined;
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port < 65_536) return port;
  console.error(`"${text}" is no port.\n\n${USAGE}`);
  process.exit(2);
};

const { profile, protocol } = values;
if (values.help || !isProfile(profile) || (protocol !== '1.0' && protocol !== '0.3')) {
  if (!values.help) console.error(`There is no profile "${profile}" of A2A ${protocol}.\n`);
  console.log(USAGE);
  process.exit(values.help ? 0 : 2);
}

const grpcPort = portOf(values['grpc-port']);
const service = await openConformanceService({
  profile,
  protocol,
  port: portOf(values.port) ?? 0,
  ...(grpcPort !== undefined && { grpcPort }),
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    service.close().catch((error: unknown) => {
      console.error(error);
      process.exitCode = 1;
    });
  });
}
const grpc = service.grpcPort === undefined ? '' : ` and grpc 127.0.0.1:${service.grpcPort}`;
console.log(`sealane ready for conformance on ${service.url}${grpc} (${profile})`);
