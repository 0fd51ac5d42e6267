import { rm } from 'node:fs/promises';

import type { Command } from 'commander';

import type { Flags } from '#config';

import { CliError } from '../cli-error.ts';
import type { CliContext } from '../cli-context.ts';
import { typed } from '../command-name.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { RunCommand } from '../run-command.ts';
import {
  findInstalled,
  type InstalledNow,
  installService,
  passThrough,
  planOf,
  readyAnswer,
  requireManager,
} from '../service-manager/index.ts';
import { untilInterrupted } from '../until-interrupted.ts';
import { addServeOptions } from './serve.ts';
import { wholeNumber } from '../option-values.ts';

export const addServiceCommand = (program: Command, run: RunCommand): void => {
  const service = program
    .command('service')
    .description('keep the service running: a systemd user unit, or a launchd agent on macOS');
  addServeOptions(
    service
      .command('install')
      .description('start it now, after a crash and with the system; again to change how it is started')
      .option('--print', 'only show the file that would be written'),
  )
    .addHelpText(
      'after',
      `
It starts with the flags that are given here, and with the SEALANE_ variables of this shell as flags; what stands in
sealane.yaml is read at each start. Secrets are refused here: they belong into the data folder or into files.

Examples:
  sealane service install
  sealane service install --port 8080 --data-dir /srv/sealane
  sealane service install --print`,
    )
    .action(({ print, ...flags }: Flags & { readonly print?: true }, command: Command) =>
      run(command, (context) => (print ? show(context, flags) : install(context, flags))),
    );
  service
    .command('status', { isDefault: true })
    .description('is it installed, running and ready, and where')
    .action((_options, command: Command) => run(command, status));
  service
    .command('logs')
    .description('print what the service has logged')
    .option('-f, --follow', 'go on as it comes, until Ctrl-C')
    .option('-n, --lines <count>', 'how many of the last lines', wholeNumber, 100)
    .action((options: { readonly follow?: true; readonly lines: number }, command: Command) =>
      run(command, ({ output }) => logs(options, output.isJson)),
    );
  service
    .command('uninstall')
    .description('stop it and start it no more; the data stays')
    .action((_options, command: Command) => run(command, uninstall));
};

const show = (context: CliContext, flags: Flags): ExitCode => {
  const manager = requireManager();
  const text = manager.render(planOf(context, flags));
  context.output.result({ file: manager.file, text }, () => text.trimEnd());
  context.output.note(`This would be ${manager.file}.`);
  return EXIT.ok;
};

const install = async (context: CliContext, flags: Flags): Promise<ExitCode> => {
  const { output } = context;
  const manager = requireManager();
  const plan = planOf(context, flags);
  let made: InstalledNow | undefined;
  const isDone = await untilInterrupted(async (signal) => {
    made = await installService(manager, plan, { signal, tell: (words) => output.progress(words) });
  });
  // What was started goes on, whether somebody watches or not.
  if (!isDone || !made) return EXIT.interrupted;
  const { url, dataDir, isUpdate, pid } = made;
  const hint = await manager.findHint();
  const warnings = plan.args[0]?.includes('/_npx/')
    ? ['It starts from a folder that npm may empty. Install it for good: npm install --global sealane']
    : [];
  output.result(
    { installed: true, updated: isUpdate, file: manager.file, url, dataDir, ready: true, pid, hint, warnings },
    () => [
      `sealane ready on ${url}`,
      '',
      `  ${isUpdate ? 'updated' : 'written'}   ${manager.file}`,
      `  the data  ${dataDir}`,
      `  the log   ${typed('service', 'logs', '-f')}`,
      `  end it    ${typed('service', 'uninstall')}`,
    ],
  );
  for (const words of [hint, ...warnings]) if (words !== undefined) output.note(`\n${words}`);
  return EXIT.ok;
};

const status = async ({ output }: CliContext): Promise<ExitCode> => {
  const manager = requireManager();
  await manager.check();
  const installed = await findInstalled(manager);
  if (!installed) {
    output.result({ installed: false, file: manager.file }, () => [
      `not installed: there is no ${manager.file} of ours`,
      `install it with: ${typed('service', 'install')}`,
    ]);
    return EXIT.notFound;
  }
  const state = await manager.state();
  const { url, dataDir, problem } = installed;
  const answer = problem ?? (url === undefined ? 'no address' : await readyAnswer(url));
  const isReady = state.isRunning && answer === 'ok';
  const why = answer === 'ok' ? 'another process answers there' : answer;
  output.result(
    {
      installed: true,
      file: manager.file,
      enabled: state.isEnabled,
      running: state.isRunning,
      detail: state.detail,
      pid: state.pid,
      since: state.since,
      ready: isReady,
      ...(!isReady && { problem: why }),
      url,
      dataDir,
    },
    () => [
      `installed  ${manager.file}`,
      `enabled    ${state.isEnabled ? 'yes' : 'no'}`,
      `running    ${state.isRunning ? 'yes' : 'no'}: ${state.detail}${state.pid === undefined ? '' : `, process ${state.pid}`}${state.since ? `, since ${state.since.toISOString()}` : ''}`,
      `ready      ${isReady ? 'yes' : `no: ${why}`}`,
      ...(url === undefined ? [] : [`address    ${url}`]),
      ...(dataDir === undefined ? [] : [`data       ${dataDir}`]),
    ],
  );
  if (!isReady) output.note(`Find out why: ${typed('service', 'logs')}`);
  return isReady ? EXIT.ok : EXIT.unreachable;
};

const logs = async (
  { follow = false, lines }: { readonly follow?: boolean; readonly lines: number },
  isJson: boolean,
): Promise<ExitCode> => {
  const [program, ...words] = requireManager().logCommand({ lines, isFollowed: follow, isJson });
  const code = await passThrough(program, words);
  if (code === EXIT.ok) return EXIT.ok;
  return code === EXIT.interrupted ? EXIT.interrupted : EXIT.failed;
};

const uninstall = async ({ output }: CliContext): Promise<ExitCode> => {
  const manager = requireManager();
  await manager.check();
  const installed = await findInstalled(manager);
  if (!installed)
    throw new CliError('not-found', `No service is installed: there is no ${manager.file} of ours.`, {
      next: typed('service', 'install'),
    });
  await manager.stop();
  await rm(manager.file);
  await manager.forget();
  const { dataDir } = installed;
  output.result(
    { installed: false, file: manager.file, dataDir },
    () => `${manager.file}  removed; the service is stopped`,
  );
  if (dataDir !== undefined) output.note(`The data stays in ${dataDir}: tasks, keys and configuration.`);
  return EXIT.ok;
};
