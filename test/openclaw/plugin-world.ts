import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { inject } from 'vitest';

import { type A2aClient, createA2aClient } from '../support/a2a-client.ts';
import { type AdminClient, createAdminClient } from '../support/admin-client.ts';
import { eventually } from '../support/eventually.ts';
import { type FakeModel, startFakeModel } from './fake-model.ts';
import { type GatewayOptions, type GatewayProcess, openGateway } from './gateway-process.ts';

/** A fake model and a real Gateway that has the packed plugin. */
export interface PluginWorld extends AsyncDisposable {
  readonly model: FakeModel;
  readonly gateway: GatewayProcess;
  /** The operator's key, as the plugin has made it. */
  readonly adminKey: string;
  /** A client of the operator. */
  readonly client: A2aClient;
  readonly admin: AdminClient;
  /** A client of somebody else, with a key made by the admin API. */
  clientOf(owner: string, key?: object): Promise<A2aClient>;
  /** Starts the Gateway again; resolves when the plugin answers. */
  start(): Promise<void>;
  /** Changes the plugin's settings in the configuration of the running OpenClaw; resolves when they are taken in. */
  configure(settings: object, timeoutMs?: number): Promise<void>;
}

const READY_MS = 60_000;

export const openPluginWorld = async ({
  settings = {},
  ...options
}: Omit<GatewayOptions, 'modelUrl' | 'started'> & { readonly settings?: object } = {}): Promise<PluginWorld> => {
  const model = await startFakeModel();
  const gateway = await openGateway({ ...options, modelUrl: model.url, started: false });
  const url = `${gateway.httpUrl}/a2a`;
  const start = async (): Promise<void> => {
    await gateway.start();
    await pluginReady(url);
  };
  const writeSettings = (changed: object): void => {
    const file = join(gateway.home, 'openclaw.json');
    const config = JSON.parse(readFileSync(file, 'utf8')) as OpenclawConfig;
    const entry = config.plugins?.entries?.['a2a-tasks'];
    const own = { ...entry, enabled: true, config: { ratePerMinute: 100_000, ...changed } };
    const entries = { ...config.plugins?.entries, 'a2a-tasks': own };
    writeFileSync(file, JSON.stringify({ ...config, plugins: { ...config.plugins, entries } }, undefined, 2));
  };
  const configure = async (changed: object, timeoutMs = READY_MS): Promise<void> => {
    const starts = (): number => gateway.log().match(/a2a-tasks: ready at/g)?.length ?? 0;
    const before = starts();
    writeSettings(changed);
    await eventually(() => {
      if (starts() === before) throw new Error(`The settings were not taken in:\n${gateway.log().slice(-2000)}`);
    }, timeoutMs);
    await pluginReady(url);
  };
  try {
    await install(gateway);
    writeSettings(settings);
    await start();
  } catch (error) {
    await gateway.close();
    await model.close();
    throw error;
  }
  const adminKey = readFileSync(join(gateway.home, 'state/data/a2a-tasks.key'), 'utf8').trim();
  const client = createA2aClient({ url, key: adminKey, path: '' });
  const admin = createAdminClient(url, adminKey);
  let keys = 0;
  return {
    model,
    gateway,
    adminKey,
    client,
    admin,
    clientOf: async (owner, key = {}) => {
      keys += 1;
      const made = await admin.post<{ key: string }>('/keys', { name: `${owner}-${keys}`, owner, ...key });
      return client.with({ key: made.key });
    },
    start,
    configure,
    [Symbol.asyncDispose]: async () => {
      await gateway.close();
      await model.close();
    },
  };
};

interface OpenclawConfig {
  readonly plugins?: { readonly entries?: Readonly<Record<string, object>> };
}

const install = async (gateway: GatewayProcess): Promise<void> => {
  const tarball = `npm-pack:${inject('pluginTarball')}`;
  const { code, output } = await gateway.openclaw('plugins', 'install', tarball, '--force', '--accept-capabilities');
  if (code !== 0) throw new Error(`The plugin was not installed:\n${output}`);
};

/** The Gateway answers unknown addresses with its own page, so only JSON counts. */
export const pluginReady = (url: string): Promise<void> =>
  eventually(async () => {
    const response = await fetch(`${url}/readyz`);
    const isOurs = response.headers.get('content-type')?.includes('json') === true;
    if (!response.ok || !isOurs) throw new Error(`/a2a is not ready: ${response.status}`);
  }, READY_MS);
