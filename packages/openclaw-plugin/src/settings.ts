import { z } from 'zod';

export const PLUGIN_ID = 'a2a-tasks';

/**
 * The plugin's settings, which stand in OpenClaw's configuration at `plugins.entries["a2a-tasks"].config`. The schema
 * in openclaw.plugin.json, by which OpenClaw checks them, is the same; a test holds them together.
 */
export const settingsSchema = z.strictObject({
  agents: z
    .array(z.string().regex(/^[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}$/))
    .min(1)
    .optional()
    .describe('Ids of the OpenClaw agents that are served, the default one first; without it the default agent.'),
  publicUrl: z
    .string()
    .regex(/^https?:\/\//)
    .optional()
    .describe('The address of /a2a as callers see it, for example https://claw.example/a2a.'),
  publicCard: z.boolean().default(false).describe('Shows the cards of the agents to callers without a key, too.'),
  concurrency: z.int().min(1).max(256).default(8).describe('Tasks of one agent at the same time.'),
  ratePerMinute: z.int().min(1).max(1_000_000).default(600).describe('Calls that one key may make in a minute.'),
  allowPrivateWebhooks: z.boolean().default(false).describe('Lets webhooks lead to this machine and its network.'),
  takeOverChannel: z
    .boolean()
    .default(false)
    .describe("Answers the peers of OpenClaw's own A2A channel in its place. `openclaw a2a-tasks import` sets it."),
  tasks: z
    .strictObject({
      ttlDays: z.number().min(0).default(7).describe('How long ended tasks are kept; 0 keeps them for ever.'),
      timeoutMinutes: z.number().positive().max(1440).default(30).describe('How long a task may work.'),
      waitSeconds: z
        .number()
        .positive()
        .max(3600)
        .default(600)
        .describe('How long a call that waits for its answer is held before it gets the task as it is then.'),
    })
    .prefault({}),
});

export type Settings = z.output<typeof settingsSchema>;

const configShape = z.object({
  plugins: z
    .object({ entries: z.record(z.string(), z.object({ config: z.unknown().optional() }).catch({})).optional() })
    .optional(),
  gateway: z.object({ bind: z.string().optional() }).optional(),
  agents: z
    .object({
      /** Who is the default one in an OpenClaw that takes the mark `default` out of what it hands to plugins. */
      defaults: z
        .object({ systemAgent: z.object({ agentId: z.string().optional() }).optional() })
        .optional()
        .catch({}),
      entries: z.record(z.string(), z.object({ default: z.boolean().optional() }).catch({})).optional(),
      list: z.array(z.object({ id: z.string(), default: z.boolean().optional() })).optional(),
    })
    .optional(),
});

export interface PluginSettings extends Settings {
  /** At least one; the first takes messages that name no agent. */
  readonly agents: [string, ...string[]];
  /** The Gateway listens for this machine alone. */
  readonly isLoopback: boolean;
}

/** The settings in OpenClaw's configuration, with everything that it says elsewhere and that we need. */
export const readSettings = (config: unknown): PluginSettings => {
  const { plugins, gateway, agents } = configShape.parse(config);
  const settings = settingsSchema.safeParse(plugins?.entries?.[PLUGIN_ID]?.config ?? {});
  if (!settings.success)
    throw new Error(`plugins.entries["${PLUGIN_ID}"].config is not right:\n${z.prettifyError(settings.error)}`);
  const known = knownAgents(agents);
  const [first = known[0], ...others] = settings.data.agents ?? [];
  const served: PluginSettings['agents'] = [first, ...others];
  const unknown = served.filter((id) => !known.some((one) => one.toLowerCase() === id.toLowerCase()));
  if (unknown.length > 0)
    throw new Error(
      `plugins.entries["${PLUGIN_ID}"].config.agents names ${unknown.join(', ')}, and OpenClaw has only ${known.join(', ')}.`,
    );
  return { ...settings.data, agents: served, isLoopback: (gateway?.bind ?? 'loopback') === 'loopback' };
};

/** Whether OpenClaw has this agent now; it takes changes of its agents in without starting us anew. */
export const hasAgent = (config: unknown, agentId: string): boolean =>
  knownAgents(configShape.parse(config).agents).some((one) => one.toLowerCase() === agentId.toLowerCase());

/** The ids of OpenClaw's agents, the default one first. It has an agent `main` where nobody has set up others. */
const knownAgents = (agents: z.output<typeof configShape>['agents']): readonly [string, ...string[]] => {
  const entries = Object.entries(agents?.entries ?? {}).map(([id, entry]) => ({ ...entry, id }));
  const all = agents?.entries ? entries : (agents?.list ?? []);
  const chosen = agents?.defaults?.systemAgent?.agentId?.toLowerCase();
  const rank = (one: (typeof all)[number]): number => (one.default ? 2 : 0) + (one.id.toLowerCase() === chosen ? 1 : 0);
  const [first = 'main', ...others] = all.toSorted((one, other) => rank(other) - rank(one)).map(({ id }) => id);
  return [first, ...others];
};
