import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { InvalidArgumentError, type Command } from 'commander';

import { resolvePath } from '#config';

import { CliError } from '../cli-error.ts';
import type { CliContext, GlobalOptions } from '../cli-context.ts';
import { typed } from '../command-name.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { homeFolder } from '../home-folder.ts';
import { askWhich, askYesNo, canAsk } from '../openclaw-setup/ask.ts';
import type { Finding } from '../openclaw-setup/check-gateway.ts';
import { findOpenclaw, type FoundOpenclaw } from '../openclaw-setup/find-openclaw.ts';
import { echoSetup, openclawSetup } from '../openclaw-setup/setup-file.ts';
import { describeSetup, type SetupReport } from '../openclaw-setup/setup-report.ts';
import { writeSetup } from '../openclaw-setup/write-setup.ts';
import type { RunCommand } from '../run-command.ts';

interface InitOptions {
  readonly agent?: string;
  readonly echo?: boolean;
  readonly check: boolean;
  readonly print?: boolean;
  readonly force?: boolean;
  readonly yes?: boolean;
}

export const addInitCommand = (program: Command, run: RunCommand): void => {
  program
    .command('init')
    .description('find the OpenClaw of this machine, write a configuration for it, and check that it works')
    .option('--agent <id>', "OpenClaw's id of the agent (its default agent without it)", agentId)
    .option('--echo', 'a configuration with the echo agent, without OpenClaw')
    .option('--no-check', 'do not connect to the Gateway')
    .option('--print', 'only show what would be written')
    .option('--force', 'replace a configuration that exists; a copy of it is kept beside it')
    .option('--yes', 'ask nothing')
    .addHelpText(
      'after',
      `
It looks where OpenClaw looks: OPENCLAW_CONFIG_PATH, OPENCLAW_STATE_DIR, ~/.openclaw/openclaw.json and PATH.
The token of the Gateway is never printed.

Examples:
  sealane init
  sealane init --agent support --print
  sealane init --yes --json | jq .checks`,
    )
    .action((options: InitOptions, command: Command) => run(command, (context) => init(context, options)));
};

const agentId = (text: string): string => {
  if (!/^[a-z0-9][a-z0-9_-]{0,63}$/i.test(text))
    throw new InvalidArgumentError('It must be an id as `openclaw agents list` shows it.');
  return text.toLowerCase();
};

const init = async (context: CliContext, options: InitOptions): Promise<ExitCode> => {
  const { output } = context;
  const isAsking = options.yes !== true && !output.isJson && canAsk();
  const file = configFile(context.options, process.env);
  const openclaw = options.echo === true ? undefined : findOpenclaw(surroundings());
  for (const warning of openclaw?.warnings ?? []) output.note(`warning: ${warning}`);
  if (!openclaw && options.echo !== true) await offerEcho(context, options, isAsking);

  const agent = openclaw ? await chooseAgent(openclaw, options, isAsking) : 'echo';
  const content = openclaw ? openclawSetup(openclaw, agent) : echoSetup();
  if (options.print === true) {
    output.result({ file, written: false, content }, () => content.trimEnd());
    return EXIT.ok;
  }
  const force = options.force === true || (existsSync(file) && (await mayReplace(context, file, isAsking)));
  const findings = openclaw ? await look(openclaw, agent, options.check, context) : [];
  const failure = findings.find(({ level }) => level === 'failed');
  if (failure && isAsking) {
    output.note(`${failure.name}: ${failure.detail}\nnext:  ${failure.next ?? typed('doctor')}\n`);
    if (!(await askYesNo('Write the configuration all the same?', true))) return exitCodeOf(failure);
  }
  const token = openclaw?.token.kind === 'value' ? openclaw.token.value : undefined;
  const written = await writeSetup({ file, content, token, force });
  const report: SetupReport = { file, agent, openclaw, findings, written, next: nextSteps(agent, context.options) };
  const { json, text } = describeSetup(report, output.style);
  output.result(json, () => text);
  return exitCodeOf(failure);
};

const surroundings = () => ({ env: process.env, cwd: process.cwd(), home: homeFolder() });

/** Where every other command looks for it; unlike them, we do not mind when it is not there or not right. */
const configFile = ({ config, dataDir }: GlobalOptions, env: NodeJS.ProcessEnv): string => {
  const place = (path: string) => resolvePath(path, { base: process.cwd(), home: homeFolder() });
  const named = config ?? (env.SEALANE_CONFIG || undefined);
  if (named !== undefined) return place(named);
  return join(place(dataDir ?? (env.SEALANE_DATA_DIR || '~/.sealane')), 'sealane.yaml');
};

const offerEcho = async (
  { output }: CliContext,
  { yes = false, print = false }: InitOptions,
  isAsking: boolean,
): Promise<void> => {
  const what = 'There is no OpenClaw here: no program `openclaw` in PATH, and no configuration of it.';
  if (yes || print || isAsking) output.note(what);
  if (yes || print) return;
  if (isAsking && (await askYesNo('Write a configuration with the echo agent, to try Sealane?', true))) return;
  throw new CliError('not-found', what, {
    next: `${typed('init', '--echo')}   # the echo agent; or OPENCLAW_CONFIG_PATH=FILE ${typed('init')}`,
  });
};

const chooseAgent = async (
  { agents }: FoundOpenclaw,
  { agent, print = false }: InitOptions,
  isAsking: boolean,
): Promise<string> => {
  if (agent !== undefined) return agent;
  return isAsking && !print && agents.length > 1 ? askWhich('Which agent of OpenClaw?', agents) : agents[0];
};

/** True when a configuration that exists may be replaced; throws when it may not. */
const mayReplace = async (context: CliContext, file: string, isAsking: boolean): Promise<true> => {
  const known = knownOpenclawAgents(context);
  const what = `${file} exists already${known.length === 0 ? '' : `, with OpenClaw as the agent ${known.join(', ')}`}.`;
  if (isAsking && (await askYesNo(`${what} Replace it? A copy is kept.`, false))) return true;
  throw new CliError('conflict', what, {
    next:
      known.length === 0
        ? `${typed('init', '--print')}   # lines to copy into it; or replace it with --force, which keeps a copy`
        : `${typed('doctor')}   # checks it; or replace it with --force, which keeps a copy`,
  });
};

const knownOpenclawAgents = ({ load }: CliContext): readonly string[] => {
  try {
    const agents = Object.entries(load().config.agents);
    return agents.filter(([, { connector }]) => connector === 'openclaw').map(([name]) => name);
  } catch {
    // A configuration that is not right may be replaced like any other.
    return [];
  }
};

const look = async (
  { token, url }: FoundOpenclaw,
  agent: string,
  isLive: boolean,
  { output }: CliContext,
): Promise<readonly Finding[]> => {
  const value = token.kind === 'missing' ? undefined : token.value;
  if (value === undefined) {
    const name = token.kind === 'variable' ? token.name : 'OPENCLAW_GATEWAY_TOKEN';
    const detail = token.kind === 'missing' ? token.why : `OpenClaw takes it from ${name}, which is not set here.`;
    return [{ name: 'token', level: 'failed', detail, next: `export ${name}=…   # then: ${typed('doctor')}` }];
  }
  if (!isLive) return [];
  output.progress(`connecting to ${url}`);
  const { checkGateway } = await import('../openclaw-setup/check-gateway.ts');
  return checkGateway({ url, token: value, agentId: agent });
};

const exitCodeOf = (failure: Finding | undefined): ExitCode => {
  if (!failure) return EXIT.ok;
  if (failure.name === 'token') return EXIT.notAllowed;
  return failure.name === 'agent' ? EXIT.notFound : EXIT.unreachable;
};

const nextSteps = (agent: string, { dataDir, config }: GlobalOptions): readonly string[] => {
  const where = [
    ...(dataDir === undefined ? [] : ['--data-dir', dataDir]),
    ...(config === undefined ? [] : ['--config', config]),
  ];
  return [
    typed('serve', ...where),
    typed('send', '--agent', agent, 'hello', ...where),
    typed('invite', 'NAME', '--agent', agent, ...where),
  ];
};
