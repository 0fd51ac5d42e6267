import { setTimeout as delay } from 'node:timers/promises';

import { type ClientContext, CliError, type Command, EXIT, type ExitCode, type RunCommand } from 'sealane/cli';

import { type ChannelConfig, ownerOf } from '../channel/index.ts';
import type { ConfigDraft, ConfigFile } from './commands-api.ts';
import type { GatewayPlace } from './gateway-place.ts';
import { findRecord, giveBack, removeRecord, takeOver, writeRecord } from './import-record.ts';
import { type Answerer, findAnswerer, findReadiness, isGatewayUp } from './look-around.ts';
import type { PluginConfig } from './plugin-config.ts';

interface ImportOptions {
  readonly undo?: boolean;
  readonly dryRun?: boolean;
}

export interface ImportDeps {
  readonly place: GatewayPlace;
  readonly config: PluginConfig;
  readonly configFile: () => ConfigFile;
}

interface Change {
  readonly setting: string;
  readonly before: boolean | null;
  readonly after: boolean | null;
}

interface Report {
  readonly done: boolean;
  readonly peers: readonly string[];
  readonly changes: readonly Change[];
  /** The running Gateway works by it; null when none runs. */
  readonly applied: boolean | null;
  /** Peers to which the agent cannot send messages of its own any more. */
  readonly unreachable: readonly string[];
}

/** A Gateway takes a change in within seconds, unless something that it waits for is still at work. */
const APPLY_MS = 30_000;
const LOOK_MS = 500;

export const addImportCommand = (parent: Command, run: RunCommand<ClientContext>, deps: ImportDeps): void => {
  parent
    .command('import')
    .description("answer the peers of OpenClaw's own A2A channel here: same address, same tokens")
    .option('--undo', 'give them back to the channel')
    .option('--dry-run', 'only say what would change')
    .addHelpText(
      'after',
      `
It switches two settings, channels.a2a.enabled and takeOverChannel of this plugin. The peers and their tokens stay
where they are.

Examples:
  openclaw a2a-tasks import --dry-run
  openclaw a2a-tasks import
  openclaw a2a-tasks import --undo`,
    )
    .action((options: ImportOptions, command: Command) =>
      run(command, (context) => (options.undo ? undo(context, deps, options) : takePeers(context, deps, options))),
    );
};

const SETTINGS = {
  channel: 'channels.a2a.enabled',
  plugin: 'plugins.entries["a2a-tasks"].config.takeOverChannel',
} as const;

const takePeers = async (context: ClientContext, deps: ImportDeps, options: ImportOptions): Promise<ExitCode> => {
  const { place, config, configFile } = deps;
  const channel = requirePeers(config.channel);
  const { output } = context;
  if (config.takesOver && !channel.isOn) {
    output.result({ done: true, peers: namesOf(channel), changes: [] }, () => [
      `The peers are answered here already: ${namesOf(channel).join(', ')}.`,
    ]);
    return EXIT.ok;
  }
  const isDry = options.dryRun === true;
  const changes: Change[] = [];
  const note = (draft: ConfigDraft): void => {
    const record = takeOver(draft, new Date());
    changes.splice(
      0,
      2,
      { setting: SETTINGS.channel, before: record.channelEnabled, after: false },
      { setting: SETTINGS.plugin, before: record.takeOverChannel, after: true },
    );
    // Before the configuration is written: a takeover without its record could not be undone exactly.
    if (!isDry) writeRecord(place.importRecord, record);
  };
  if (!isDry) await requireIdle(context, place);
  await change(configFile(), isDry, note);
  const report: Report = {
    done: !isDry,
    peers: namesOf(channel),
    changes,
    applied: isDry ? null : await untilApplied(deps, 'sealane'),
    unreachable: channel.peers.filter(({ isSentTo }) => isSentTo).map(({ name }) => name),
  };
  output.result(report, () => describeImport(report, channel, place));
  if (!isDry) output.note('Undo: openclaw a2a-tasks import --undo');
  return EXIT.ok;
};

const undo = async (context: ClientContext, deps: ImportDeps, options: ImportOptions): Promise<ExitCode> => {
  const { place, config, configFile } = deps;
  const { output } = context;
  const record = findRecord(place.importRecord);
  if (!config.takesOver) {
    if (!options.dryRun) removeRecord(place.importRecord);
    output.result({ done: true, peers: config.channel ? namesOf(config.channel) : [], changes: [] }, () => [
      'Nothing is taken over: there is nothing to undo.',
    ]);
    return EXIT.ok;
  }
  const before = record ? record.channelEnabled : true;
  const isDry = options.dryRun === true;
  let wasEnabled: boolean | null = null;
  if (!isDry) await requireIdle(context, place);
  await change(configFile(), isDry, (draft) => {
    wasEnabled = draft.channels?.a2a?.enabled ?? null;
    giveBack(draft, record);
  });
  if (!isDry) removeRecord(place.importRecord);
  const changes: readonly Change[] = [
    { setting: SETTINGS.channel, before: wasEnabled, after: before },
    { setting: SETTINGS.plugin, before: true, after: record?.takeOverChannel ?? null },
  ];
  const report: Report = {
    done: !isDry,
    peers: config.channel ? namesOf(config.channel) : [],
    changes,
    applied: isDry || before === false ? null : await untilApplied(deps, 'channel'),
    unreachable: [],
  };
  output.result(report, () => [
    isDry ? 'This would change:' : "The peers are with OpenClaw's own channel again.",
    ...describeChanges(changes),
    'Tasks that were made here stay here; the peers cannot ask for them while the channel answers.',
    ...describeApplied(report, place),
  ]);
  return EXIT.ok;
};

/** OpenClaw exchanges no plugin that is at work: the change would be in the file, and nowhere else. */
const requireIdle = async (context: ClientContext, place: GatewayPlace): Promise<void> => {
  if ((await findReadiness(place)) !== 'ready') return;
  const { running } = await (await context.client()).get<{ readonly running: number }>('/admin/info');
  if (running === 0) return;
  throw new CliError('conflict', `OpenClaw cannot take this in while tasks run, and ${running} do now.`, {
    next: 'openclaw a2a-tasks tasks list --state working   # wait for them, or cancel them; then try again',
  });
};

const requirePeers = (channel: ChannelConfig | undefined): ChannelConfig => {
  if (channel && channel.peers.length > 0) return channel;
  throw new CliError(
    'not-found',
    "OpenClaw's A2A channel has no peers that could be taken over (channels.a2a.peers).",
    {
      next: 'openclaw a2a-tasks invite NAME   # makes a key for a new peer',
    },
  );
};

const DRY = new Error('Nothing is to be written.');

/** Changes OpenClaw's configuration, or only finds out what would change. */
const change = async (file: ConfigFile, isDry: boolean, mutate: (draft: ConfigDraft) => void): Promise<void> => {
  try {
    await file.mutateConfigFile({
      afterWrite: { mode: 'auto' },
      mutate: (draft) => {
        mutate(draft);
        if (isDry) throw DRY;
      },
    });
  } catch (error) {
    if (error !== DRY) throw error;
  }
};

const namesOf = ({ peers }: ChannelConfig): readonly string[] => peers.map(({ name }) => name);

/** Whether the running Gateway works by the change; null when none runs. */
const untilApplied = async ({ place, config }: ImportDeps, wanted: Answerer): Promise<boolean | null> => {
  if (!(await isGatewayUp(place))) return null;
  const until = performance.now() + APPLY_MS;
  while (performance.now() < until) {
    if ((await findAnswerer(place, config.channel)) === wanted) return true;
    await delay(LOOK_MS);
  }
  return false;
};

const describeImport = (report: Report, channel: ChannelConfig, place: GatewayPlace): readonly string[] => {
  const rate = channel.ratePerMinute === Infinity ? 'no rate limit' : `${channel.ratePerMinute} calls a minute`;
  const [first = 'NAME'] = report.peers;
  return [
    report.done ? `Taken over: ${report.peers.join(', ')}.` : `This would take over: ${report.peers.join(', ')}.`,
    ...describeChanges(report.changes),
    '',
    'What stays the same for them:',
    `  the address ${place.origin}/a2a/v1, their tokens, ${rate}, SendMessage and GetTask under all their names,`,
    `  and that an answer is waited for up to ${channel.replyTimeoutMs / 1000} s`,
    'What is different:',
    '  tasks are stored: they survive a restart, can be listed, streamed, canceled, and end as failed when they fail',
    '  their agent works guarded: commands only when you approve them, files of its workspace, no messages to others',
    '  conversations begin anew: their sessions are others, and the tasks of the channel are gone',
    '  too many calls are refused with HTTP 429',
    ...(report.unreachable.length === 0
      ? []
      : [
          '',
          `warning: your agent cannot send messages to ${report.unreachable.join(', ')} any more (a2a:${report.unreachable[0] ?? first}):`,
          "         that is the channel's work, and the channel is off. What they send is answered.",
        ]),
    '',
    `Their tasks: openclaw a2a-tasks tasks list --owner ${ownerOf(first)}`,
    ...describeApplied(report, place),
  ];
};

const describeChanges = (changes: readonly Change[]): readonly string[] =>
  changes.map(({ setting, before, after }) => `  ${setting}: ${before ?? 'not set'} → ${after ?? 'not set'}`);

const describeApplied = ({ done, applied }: Report, { origin }: GatewayPlace): readonly string[] => {
  if (!done) return [];
  if (applied === null) return ['It counts from the next start of the Gateway on.'];
  return applied
    ? [`The running Gateway at ${origin} works by it: no restart is needed.`]
    : ['The running Gateway does not work by it yet. If it stays so: openclaw gateway restart'];
};
