import { statSync } from 'node:fs';

import {
  type ApiClient,
  type ClientContext,
  type Command,
  EXIT,
  type ExitCode,
  type RunCommand,
  STATES,
  VERSION,
} from 'sealane/cli';

import type { GatewayPlace } from './gateway-place.ts';
import { type Answerer, findAnswerer, findReadiness, isGatewayUp } from './look-around.ts';
import type { PluginConfig } from './plugin-config.ts';

interface Status {
  readonly plugin: { readonly enabled: boolean; readonly version: string };
  readonly url: string;
  readonly gateway: 'up' | 'down';
  readonly service: 'ready' | 'not ready' | 'off';
  readonly agents?: readonly string[];
  /** How many tasks are in each state; states without any are left out. */
  readonly tasks?: Readonly<Record<string, number>>;
  readonly lanes?: { readonly waiting: number; readonly running: number; readonly pausedAgents: readonly string[] };
  readonly database: { readonly file: string; readonly bytes: number | null };
  readonly channel: {
    readonly peers: readonly string[];
    readonly enabled: boolean;
    readonly takenOver: boolean;
    /** Who answers its peers at this moment. */
    readonly answeredBy: Answerer;
  };
}

export const addStatusCommand = (
  parent: Command,
  run: RunCommand<ClientContext>,
  place: GatewayPlace,
  config: PluginConfig,
): void => {
  parent
    .command('status', { isDefault: true })
    .description('whether the service runs, where, and what it does')
    .action((_options, command: Command) =>
      run(command, async (context) => {
        const status = await look(context, place, config);
        context.output.result(status, () => describe(status));
        if (status.service === 'ready') return EXIT.ok;
        context.output.note(nextStep(status));
        return EXIT.unreachable satisfies ExitCode;
      }),
    );
};

const look = async (context: ClientContext, place: GatewayPlace, config: PluginConfig): Promise<Status> => {
  const isUp = await isGatewayUp(place);
  const readiness = isUp ? await findReadiness(place) : undefined;
  const client = readiness === 'ready' ? await context.client() : undefined;
  return {
    plugin: { enabled: config.isEnabled, version: VERSION },
    url: place.url,
    gateway: isUp ? 'up' : 'down',
    service: readiness ?? 'off',
    ...(client && (await countAll(client))),
    database: { file: place.database, bytes: sizeOf(place.database) },
    channel: {
      peers: config.channel?.peers.map(({ name }) => name) ?? [],
      enabled: config.channel?.isOn ?? false,
      takenOver: config.takesOver,
      answeredBy: isUp && config.channel ? await findAnswerer(place, config.channel) : 'nobody',
    },
  };
};

const countAll = async (client: ApiClient): Promise<Pick<Status, 'agents' | 'tasks' | 'lanes'>> => {
  const [info, ...totals] = await Promise.all([
    client.get<Info>('/admin/info'),
    ...STATES.map((state) => client.get<{ readonly total: number }>('/admin/tasks', { state, limit: 1 })),
  ]);
  const counts = STATES.map((state, index) => [state, totals[index]?.total ?? 0] as const);
  return {
    agents: info.agents.map(({ name }) => name),
    tasks: Object.fromEntries(counts.filter(([, count]) => count > 0)),
    lanes: {
      waiting: info.waiting,
      running: info.running,
      pausedAgents: info.agents.filter(({ paused }) => paused).map(({ name }) => name),
    },
  };
};

interface Info {
  readonly waiting: number;
  readonly running: number;
  readonly agents: readonly { readonly name: string; readonly paused: boolean }[];
}

/** With its journal; null while there is none. */
const sizeOf = (file: string): number | null => {
  const sizes = [file, `${file}-wal`].map((part) => statSync(part, { throwIfNoEntry: false })?.size);
  return sizes[0] === undefined ? null : sizes.reduce<number>((sum, size = 0) => sum + size, 0);
};

const describe = (status: Status): readonly string[] => {
  const { tasks, lanes, database, channel, agents } = status;
  const counts = Object.entries(tasks ?? {}).map(([state, count]) => `${count} ${state}`);
  return [
    `plugin    ${status.plugin.enabled ? 'on' : 'off'}, version ${status.plugin.version}`,
    `gateway   ${status.gateway}`,
    `service   ${status.service}, at ${status.url}`,
    ...(agents ? [`agents    ${agents.join(', ')}`] : []),
    ...(tasks ? [`tasks     ${counts.join(', ') || 'none'}`] : []),
    ...(lanes ? [`lanes     ${lanes.running} running, ${lanes.waiting} waiting${pausedOf(lanes.pausedAgents)}`] : []),
    `database  ${database.file}${database.bytes === null ? ', not made yet' : `, ${sizeText(database.bytes)}`}`,
    `channel   ${channelText(channel)}`,
  ];
};

const pausedOf = (agents: readonly string[]): string => (agents.length === 0 ? '' : `; paused: ${agents.join(', ')}`);

const sizeText = (bytes: number): string =>
  bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`;

const ANSWERED: Readonly<Record<Answerer, string>> = {
  channel: "OpenClaw's channel answers them",
  sealane: 'this service answers them',
  nobody: 'nobody answers them now',
};

const channelText = ({ peers, takenOver, enabled, answeredBy }: Status['channel']): string => {
  if (peers.length === 0) return "OpenClaw's own A2A channel has no peers";
  const state = takenOver ? 'taken over' : `${enabled ? 'on' : 'off'}, not taken over`;
  return `${state}; ${peers.length} peer${peers.length === 1 ? '' : 's'} (${peers.join(', ')}): ${ANSWERED[answeredBy]}`;
};

const nextStep = ({ gateway, service, plugin }: Status): string => {
  if (!plugin.enabled) return 'Next: openclaw plugins enable a2a-tasks';
  if (gateway === 'down') return 'Next: openclaw gateway run   # where it is a service: openclaw gateway start';
  return service === 'off'
    ? 'Next: openclaw gateway restart   # the Gateway runs without the plugin'
    : 'Next: openclaw a2a-tasks doctor';
};
