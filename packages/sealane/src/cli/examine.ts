import { accessSync, constants, lstatSync, readlinkSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname } from 'node:path';

import { storeTarget, type Config, type LoadedConfig } from '#config';

import type { ApiClient } from './api-client.ts';
import { toCliError } from './cli-error.ts';
import type { CliContext } from './cli-context.ts';
import { typed } from './command-name.ts';
import type { Check } from './check.ts';
import { examineOpenclaw } from './openclaw-setup/examine-openclaw.ts';
import { findPortHolder } from './port-holder.ts';

/** Looks at everything in the order in which it can go wrong, and stops where the rest would only repeat a failure. */
export async function* examine(context: CliContext): AsyncGenerator<Check> {
  yield checkNode();
  const loaded = load(context);
  if ('ok' in loaded) {
    yield loaded;
    return;
  }
  const { config, file, fileExists } = loaded;
  yield { name: 'config', ok: true, detail: fileExists ? file : `no ${file}; the defaults are in use` };

  const { url, isNamed } = context.address();
  if (!isNamed) {
    yield checkFolder(config);
    yield await checkDatabase(config);
    yield* examineOpenclaw(config);
  }
  const service = await context.client().catch((error: unknown) => toCliError(error));
  if (service instanceof Error) {
    yield { name: 'key', ok: false, detail: service.message, next: service.next };
    return;
  }
  const reached = await attempt(
    'service',
    () => service.get<{ readonly status: unknown }>('/healthz', {}, ['status']),
    () => `answers on ${url}`,
  );
  if (!isNamed) yield await checkPort(config, reached.ok);
  yield reached;
  if (!reached.ok) return;
  const key = await attempt(
    'key',
    () => service.get<Info>('/admin/info', {}, ['version', 'store']),
    ({ version, store }) => `an admin key; version ${version}, ${store}`,
  );
  yield key;
  if (key.ok) yield* checkHealth(service);
}

interface Info {
  readonly version: string;
  readonly store: string;
}

interface HealthReport {
  readonly store: string;
  readonly agents: readonly { readonly name: string; readonly ok: boolean; readonly detail: string }[];
}

const checkNode = (): Check => ({
  name: 'node',
  ok: Number(process.versions.node.split('.')[0]) >= 24,
  detail: process.versions.node,
  next: 'install Node 24 or later from https://nodejs.org',
});

const load = (context: CliContext): LoadedConfig | Check => {
  try {
    return context.load();
  } catch (error) {
    return { name: 'config', ok: false, detail: toCliError(error).message, next: 'correct it, then run this again' };
  }
};

const checkFolder = ({ dataDir }: Config): Check => {
  const folder = (ok: boolean, detail: string, next?: string): Check => ({ name: 'data folder', ok, detail, next });
  try {
    const facts = statSync(dataDir);
    if (!facts.isDirectory())
      return folder(false, `${dataDir} is not a folder`, typed('serve', '--data-dir', 'FOLDER'));
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
    return process.platform !== 'win32' && (facts.mode & 0o077) !== 0
      ? folder(false, `other users can look into ${dataDir}`, `chmod 700 ${dataDir}`)
      : folder(true, `${dataDir}, writable and private`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const link = code === 'ENOENT' ? brokenLink(dataDir) : undefined;
    if (link !== undefined)
      return folder(false, `${link} leads to ${readlinkSync(link)}, which is not there`, 'mount or make it');
    return code === 'ENOENT' && canMake(dataDir)
      ? folder(true, `${dataDir} will be made at the first start`)
      : folder(
          false,
          code === 'ENOENT' ? `${dataDir} cannot be made` : `${dataDir} cannot be used (${code ?? String(error)})`,
          code === 'ENOENT'
            ? typed('serve', '--data-dir', 'FOLDER')
            : `chown -R "$USER" ${dataDir}, or ${typed('serve', '--data-dir', 'FOLDER')}`,
        );
  }
};

/** The nearest name above, or this one, that is there, if it is a link to nothing: a disk may not be mounted. */
const brokenLink = (path: string): string | undefined => {
  const facts = lstatSync(path, { throwIfNoEntry: false });
  if (facts) return facts.isSymbolicLink() && !statSync(path, { throwIfNoEntry: false }) ? path : undefined;
  return dirname(path) === path ? undefined : brokenLink(dirname(path));
};

/** Whether the nearest folder above that is there may be written. */
const canMake = (folder: string): boolean => {
  const above = dirname(folder);
  try {
    accessSync(above, constants.W_OK | constants.X_OK);
    return statSync(above).isDirectory();
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' && above !== folder && canMake(above);
  }
};

const checkDatabase = async (config: Config): Promise<Check> => {
  const store = storeTarget(config);
  if (store.kind === 'memory') return { name: 'database', ok: true, detail: 'memory' };
  if (store.kind === 'postgres') {
    const { describePostgres } = await import('#store/postgres/index');
    return attempt(
      'database',
      () => describePostgres(store.url),
      (detail) => detail,
    );
  }
  const { describeDatabase } = await import('./database-file.ts');
  return attempt(
    'database',
    async () => describeDatabase(store.file),
    (detail) => detail,
  );
};

const checkPort = async ({ host, port }: Config, isOurs: boolean): Promise<Check> => {
  const name = 'port';
  if (isOurs) return { name, ok: true, detail: `${port}, held by the service` };
  const problem = await new Promise<string | undefined>((resolve) => {
    const probe = createServer();
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    probe.listen(port, host, () => probe.close(() => resolve(undefined)));
  });
  if (problem === undefined) return { name, ok: true, detail: `${port} is free` };
  if (problem !== 'EADDRINUSE')
    return {
      name,
      ok: false,
      detail: `${host}:${port} cannot be listened on (${problem})`,
      next: typed('serve', '--host', '127.0.0.1', '--port', '7421'),
    };
  return {
    name,
    ok: false,
    detail: `${port} is taken by ${findPortHolder(port) ?? 'another program'}`,
    next: typed('serve', '--port', String(port + 1)),
  };
};

async function* checkHealth(service: ApiClient): AsyncGenerator<Check> {
  let report: HealthReport | undefined;
  const store = await attempt(
    'store',
    async () => (report = await service.get<HealthReport>('/admin/health', {}, ['store', 'agents'])),
    ({ store }) => store,
  );
  yield { ...store, ok: store.ok && report?.store === 'ok', next: store.next ?? 'look at the log of the service' };
  for (const { name, ok, detail } of report?.agents ?? []) {
    yield {
      name: `agent ${name}`,
      ok,
      detail: detail || (ok ? 'ok' : 'not ready'),
      next: `correct agents.${name} in sealane.yaml`,
    };
  }
}

const attempt = async <T>(name: string, call: () => Promise<T>, describe: (value: T) => string): Promise<Check> => {
  try {
    return { name, ok: true, detail: describe(await call()) };
  } catch (error) {
    const { message, next } = toCliError(error);
    return { name, ok: false, detail: message, next };
  }
};
