import { existsSync } from 'node:fs';
import { join } from 'node:path';

import type { Command } from 'commander';

import {
  adminKeyFile,
  configSchema,
  ensureAdminKey,
  isLoopback,
  OVERRIDES,
  storeTarget,
  watchConfig,
  type Config,
  type Flags,
  type LoadedConfig,
  type OverrideName,
} from '#config';
import { SealaneError } from '#domain';
import type { Logger } from 'pino';

import type { Service } from '../../compose.ts';
import { CliError } from '../cli-error.ts';
import { urlOf, type CliContext } from '../cli-context.ts';
import { typed } from '../command-name.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { findPortHolder } from '../port-holder.ts';
import type { RunCommand } from '../run-command.ts';
import { settleHeap } from '../settle-heap.ts';
import { outliveReaders } from '../standard-streams.ts';

export const addServeCommand = (program: Command, run: RunCommand): void => {
  addServeOptions(program.command('serve').description('run the service until Ctrl-C'))
    .addHelpText(
      'after',
      `
Flags win over the environment (SEALANE_PORT, SEALANE_HOST, SEALANE_DATA_DIR, SEALANE_STORE, SEALANE_CONFIG,
SEALANE_ADMIN_KEY, SEALANE_GRPC_PORT, SEALANE_PUBLIC_URL, SEALANE_TRUSTED_PROXIES, SEALANE_LOG_LEVEL), the environment over the file
<data folder>/sealane.yaml, the file over the defaults. See them all: sealane config show

Examples:
  sealane serve
  sealane serve --port 8080 --store memory
  sealane serve --host 0.0.0.0 --public-url https://tasks.example.com`,
    )
    .action((flags: Flags, command: Command) => run(command, (context) => serveUntilStopped(context, flags)));
};

/** The settings that can be given on the command line. The data folder is not here: it is an option of every command. */
export const addServeOptions = (command: Command): Command => {
  for (const name of Object.keys(OVERRIDES) as OverrideName[]) {
    if (name !== 'dataDir') command.option(OVERRIDES[name].flag, describeSetting(name));
  }
  return command;
};

const describeSetting = (name: OverrideName): string => {
  const schema = configSchema.shape[name];
  const initial = schema.safeParse(undefined).data;
  const hint = initial === undefined || initial === false || Array.isArray(initial) ? '' : ` (${String(initial)})`;
  return `${schema.description ?? ''}${hint}`;
};

const serveUntilStopped = async (context: CliContext, flags: Flags): Promise<ExitCode> => {
  const { output } = context;
  const loaded = context.load(flags);
  const { config } = loaded;
  // `sealane serve | grep -m1 ready` reads one line and leaves.
  outliveReaders();
  // Watched from the moment it was read: what is written while the service starts is taken in when it has.
  let onChange = (): void => void (isChanged = true);
  let isChanged = false;
  using _watcher = watchConfig(loaded.file, () => onChange());
  const adminKey = config.adminKey ?? (await ensureAdminKey(config.dataDir));
  const { createServiceLog } = await import('../service-log.ts');
  const log = createServiceLog(config.logLevel);
  const stop = stopSignal(() => log.info('stopping: runs get their time to end; again to stop at once'));

  const failed = Promise.withResolvers<ExitCode>();
  const service = await start({ ...config, adminKey }, log, () => failed.resolve(EXIT.storeFailed));
  const { grpcAddress } = service;
  settleHeap();
  if (output.isJson)
    output.document({ ready: true, url: service.url, ...(grpcAddress !== undefined && { grpc: grpcAddress }) });
  else {
    output.line(`sealane ready on ${service.url}`);
    for (const line of whatToTry(context, loaded, service)) output.line(line);
  }
  onChange = () => void reload(context, flags, service, adminKey, log);
  if (isChanged) onChange();
  const code = await Promise.race([stop.then(() => EXIT.ok), failed.promise]);
  if (code !== EXIT.ok) endSoon(code, log);
  await service.close();
  return code;
};

/** Longer than it takes to abort what runs, and to close what is open. */
const CLOSE_MS = 20_000;

/** A service that can do nothing more ends whatever happens, so that its supervisor starts it again. */
const endSoon = (code: ExitCode, log: Logger): void => {
  log.fatal(`this process ends with exit code ${code}, so that a supervisor starts the service again`);
  // oxlint-disable-next-line unicorn/no-process-exit -- whatever does not close must not keep us
  setTimeout(() => process.exit(code), CLOSE_MS).unref();
};

const start = async (config: Config, log: Logger, onFatal: () => void): Promise<Service> => {
  // Everything but this command works without the engine, and starts faster for it.
  const { startService } = await import('../../compose.ts');
  try {
    return await startService(config, { log, onFatal });
  } catch (error) {
    throw explainStart(error, config);
  }
};

const explainStart = (error: unknown, { host, port, grpcPort, dataDir }: Config): unknown => {
  // Which of the two ports it was is in the error.
  const { code, port: wanted = port } = error as NodeJS.ErrnoException & { readonly port?: number };
  const flag = wanted === grpcPort ? '--grpc-port' : '--port';
  if (code === 'EADDRINUSE') {
    const holder = findPortHolder(wanted);
    return new CliError('conflict', `Port ${wanted} is taken${holder === undefined ? '' : ` by ${holder}`}.`, {
      cause: error,
      next: typed('serve', flag, String(wanted + 1)),
    });
  }
  if (code === 'EACCES')
    return new CliError('conflict', `This user may not listen on port ${wanted}.`, {
      cause: error,
      next: typed('serve', flag, flag === '--port' ? '7420' : '7421'),
    });
  if (code === 'EADDRNOTAVAIL')
    return new CliError('conflict', `${host} is not an address of this machine.`, {
      cause: error,
      next: typed('serve', '--host', '127.0.0.1'),
    });
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return new CliError('conflict', `host is ${host}, which is no address and no name that this machine knows.`, {
      cause: error,
      next: typed('serve', '--host', '127.0.0.1'),
    });
  if (error instanceof SealaneError && error.code === 'store-locked') {
    const { pid, file, instances } = error.facts;
    // The lock of another Sealane names its file. Other locks have words of their own.
    if (file === undefined) {
      const next =
        instances === undefined
          ? `fuser -v ${join(dataDir, 'sealane.db')}   # shows the process that has the lock`
          : `${typed('serve')}   # again, when the other instances are stopped`;
      return new CliError('store-locked', error.message, { cause: error, next });
    }
    return new CliError(
      'store-locked',
      `The data folder ${dataDir} is in use${pid === undefined ? '' : ` by process ${pid}`}.`,
      {
        cause: error,
        next: `${pid === undefined ? typed('doctor') : `kill ${pid}`}   # or choose another folder: ${typed('serve', '--data-dir', 'FOLDER', '--port', String(port === 0 ? 0 : port + 1))}`,
      },
    );
  }
  return error;
};

/** Resolves at the first SIGINT, SIGTERM or SIGHUP; the second ends the process at once. */
const stopSignal = (onFirst: () => void): Promise<void> =>
  new Promise((resolve) => {
    let isStopping = false;
    const onSignal = (_name: string, number: number) => {
      // oxlint-disable-next-line unicorn/no-process-exit -- the user asked twice, and whatever hangs must not keep us
      if (isStopping) process.exit(128 + number);
      isStopping = true;
      onFirst();
      resolve();
    };
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
  });

/** A file that is wrong changes nothing: the log says what is, and the service goes on as it was. */
const reload = async (
  context: CliContext,
  flags: Flags,
  service: Service,
  adminKey: string,
  log: Logger,
): Promise<void> => {
  try {
    const { config, file } = context.loadAgain(flags);
    // A disk that is not mounted for a moment must not leave the service with an echo for everybody.
    if (!existsSync(file))
      return log.error(`${file} is gone: the service goes on as it was. Put it back, or start again`);
    await service.reload({ ...config, adminKey });
    log.info('took in the changed configuration: agents and keys; other settings need a restart');
  } catch (error) {
    log.error({ err: error }, 'the changed configuration is not used');
  }
};

/** The flag or variable that the key was given by: commands typed elsewhere do not know it, and find another or none. */
const givenKey = (sourceOf: LoadedConfig['sourceOf']): { readonly name: string } | undefined => {
  const given = [sourceOf(['adminKey']), sourceOf(['adminKeyFile'])].filter((source) => 'name' in source);
  return given.find(({ kind }) => kind === 'flag') ?? given[0];
};

/** The commands need the address and the folder only where they would not find them themselves. */
const whatToTry = (
  { options }: CliContext,
  { config, sourceOf }: LoadedConfig,
  { url: listening, grpcAddress }: Service,
): readonly string[] => {
  const folder = options.dataDir === undefined ? [] : ['--data-dir', options.dataDir];
  const file = options.config === undefined ? [] : ['--config', options.config];
  // A service that listens everywhere is called at one address, and at ours it is trusted with our key.
  const { port } = new URL(listening);
  const url = urlOf({ host: config.host, port: Number(port || 80) });
  const isFound = sourceOf(['port']).kind !== 'flag' && sourceOf(['host']).kind !== 'flag' && url === urlOf(config);
  const given = givenKey(sourceOf);
  const wantsKey = given !== undefined || !(isFound || isLoopback(new URL(url).hostname));
  const where = [...(isFound ? [] : ['--url', url]), ...folder, ...file, ...(wantsKey ? ['--key', 'KEY'] : [])];
  const printKey = typed('key', ...folder, ...file);
  const keyPlace = config.adminKey === undefined ? adminKeyFile(config.dataDir) : 'as configured';
  const store = storeTarget(config);
  return [
    '',
    `  try it    ${typed('send', 'hello', ...where)}`,
    `  the key   ${given ? `the one of ${given.name}` : `${keyPlace}   (${printKey})`}`,
    `  the tasks ${store.kind === 'sqlite' ? store.file : store.kind}`,
    ...(grpcAddress === undefined ? [] : [`  by gRPC   ${grpcAddress}   (lf.a2a.v1.A2AService)`]),
    ...(process.stdout.isTTY
      ? [
          `  by curl   curl -H "Authorization: Bearer ${given ? 'KEY' : `$(${printKey})`}" -H 'A2A-Version: 1.0' -H 'Content-Type: application/json' \\`,
          `              -d '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"hello"}]}}}' ${url}`,
        ]
      : []),
  ];
};
