import { join } from 'node:path';

import { z } from 'zod';

import { DATABASE_NAME, dataFolder, KEY_NAME, ROUTE_PREFIX } from '../places.ts';

/** Where the Gateway of this machine and the files of the plugin are. */
export interface GatewayPlace {
  /** The Gateway's address, such as `http://127.0.0.1:18789`. */
  readonly origin: string;
  /** The address of the service. */
  readonly url: string;
  /** The configuration speaks of a Gateway elsewhere: the files are there, too. */
  readonly isElsewhere: boolean;
  /** The certificate that the Gateway made for itself or was given; undefined without TLS. */
  readonly certificate: string | undefined;
  readonly dataDir: string;
  readonly database: string;
  readonly keyFile: string;
  /** What `import` found, for `import --undo`. */
  readonly importRecord: string;
}

const configShape = z.object({
  gateway: z
    .object({
      mode: z.string().optional(),
      port: z.number().optional(),
      bind: z.string().optional(),
      customBindHost: z.string().optional(),
      tls: z.object({ enabled: z.boolean().optional(), certPath: z.string().optional() }).optional(),
    })
    .optional(),
});

const DEFAULT_PORT = 18_789;

export const findPlace = (config: unknown, stateDir: string, env: NodeJS.ProcessEnv): GatewayPlace => {
  const gateway = configShape.safeParse(config).data?.gateway ?? {};
  const isTls = gateway.tls?.enabled === true;
  const port = portOf(env['OPENCLAW_GATEWAY_PORT']) ?? gateway.port ?? DEFAULT_PORT;
  const host = gateway.bind === 'custom' ? (gateway.customBindHost ?? '127.0.0.1') : '127.0.0.1';
  const origin = `${isTls ? 'https' : 'http'}://${host === '0.0.0.0' ? '127.0.0.1' : host}:${port}`;
  const dataDir = dataFolder(stateDir);
  return {
    origin,
    url: `${origin}${ROUTE_PREFIX}`,
    isElsewhere: gateway.mode === 'remote',
    certificate: isTls ? (gateway.tls?.certPath ?? join(stateDir, 'gateway/tls/gateway-cert.pem')) : undefined,
    dataDir,
    database: join(dataDir, DATABASE_NAME),
    keyFile: join(dataDir, KEY_NAME),
    importRecord: join(dataDir, 'a2a-tasks.import.json'),
  };
};

const portOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,5}$/.test(text.trim()) ? Number(text) : undefined;
