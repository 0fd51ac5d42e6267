import { z } from 'zod';

import type { Permission } from '../../agent-connector.ts';
import { GatewayError } from './gateway-error.ts';
import type { GatewayOptions } from './gateway-options.ts';
import type { GatewaySocket } from './gateway-socket.ts';

/** The rights of a session are as they must be, or the task is refused. */
export type RightsOutcome =
  /** The session that has them; a run that names it fails if the session is reset in between. */
  { readonly ok: true; readonly sessionId: string } | { readonly ok: false; readonly why: string };

/** What the Gateway says of a session, asked for a moment before it is needed. */
export interface SessionLook {
  readonly socket: GatewaySocket;
  readonly at: number;
  readonly answer: Promise<unknown>;
}

export interface SessionRights {
  /** Asks what a run will have to know, so that `ensure` finds it answered. */
  lookAhead(socket: GatewaySocket, sessionKey: string): SessionLook;
  ensure(
    socket: GatewaySocket,
    sessionKey: string,
    permission: Permission,
    ahead?: SessionLook,
  ): Promise<RightsOutcome>;
  /** What keeps callers other than the owner from being served; nothing if all is well. */
  confinementProblem(socket: GatewaySocket): Promise<string | undefined>;
  /**
   * A run that the Gateway resumes by itself after a crash has the session's mode, but the message tool again. It
   * may go on only if nothing can come of that.
   */
  mayBeResumed(socket: GatewaySocket, permission: Permission): Promise<boolean>;
}

/** The Gateway takes in changes of its configuration while it runs, so what was seen counts only for a while. */
const CONFIG_MS = 5000;

/** A look ahead is made while a message is being stored; one that had to wait longer is made anew. */
const LOOK_MS = 250;

const denying = z.object({ deny: z.array(z.string()).optional() });
const agentShape = z.object({ tools: denying.optional() });
const configShape = z.object({
  tools: denying.extend({ sessions: z.object({ visibility: z.string() }).optional() }).optional(),
  agents: z
    .object({
      /** By id, written as its author did: ids count without regard to case. */
      entries: z.record(z.string(), agentShape).optional(),
      /** How Gateways before 2026.9 have it. */
      list: z.array(agentShape.extend({ id: z.string() })).optional(),
    })
    .optional()
    .catch(undefined),
});
type Config = z.output<typeof configShape>;
const configAnswer = z.object({ runtimeConfig: z.unknown().optional(), config: z.unknown().optional() });

const described = z.object({
  session: z
    .object({
      sessionId: z.string().optional(),
      permissionMode: z.string().nullish(),
      permissionModePending: z.boolean().default(false),
    })
    .nullable(),
});
const patched = z.object({
  ok: z.literal(true),
  entry: z.object({ sessionId: z.string(), permissionMode: z.string().nullish() }),
});

const OTHER_SESSIONS =
  'This agent is not set up for callers other than its owner: it could write to other OpenClaw sessions, which have more rights. ' +
  'Set tools.sessions.visibility to "self" in the configuration of OpenClaw.' +
  ' (Where OpenClaw does not show its configuration, sessionsConfined: true says that it is so.)';

/**
 * A session that a remote caller talks to gets the caller's permission as its mode before each run, and the mode is
 * read back. The mode does not confine the tools that reach other sessions, so these must be confined by the
 * Gateway's configuration, which we read.
 *
 * Each run looks anew, after its message came: whatever another operator did before is seen, and a reset after the look
 * makes the run fail, because it names the session that was looked at. Nothing is kept from one run to the next. The
 * Gateway's `sessions.changed` could tell when to forget, but it is held back for up to half a second after another
 * change, it is left out for a slow reader, and being told costs each turn more than looking does.
 */
export const createSessionRights = (options: Pick<GatewayOptions, 'sessionsConfined' | 'agentId'>): SessionRights => {
  const seen = new WeakMap<GatewaySocket, { readonly at: number; readonly configs: Promise<readonly Config[]> }>();

  const configsOf = (socket: GatewaySocket): Promise<readonly Config[]> => {
    const last = seen.get(socket);
    if (last && performance.now() - last.at < CONFIG_MS) return last.configs;
    const configs = readConfigs(socket);
    seen.set(socket, { at: performance.now(), configs });
    configs.catch(() => seen.delete(socket));
    return configs;
  };

  const confinementProblem = async (socket: GatewaySocket): Promise<string | undefined> => {
    if (options.sessionsConfined) return undefined;
    const configs = await configsOf(socket);
    return configs.every(({ tools }) => tools?.sessions?.visibility === 'self') ? undefined : OTHER_SESSIONS;
  };

  const isOurs = (id: string): boolean => id.toLowerCase() === options.agentId.toLowerCase();

  const deniesMessages = ({ tools, agents }: Config): boolean => {
    const entries = Object.entries(agents?.entries ?? {}).map(([id, agent]) => ({ id, ...agent }));
    const own = [...entries, ...(agents?.list ?? [])].filter(({ id }) => isOurs(id));
    return [tools, ...own.map((agent) => agent.tools)].some((one) => one?.deny?.includes('message') === true);
  };

  return {
    confinementProblem,
    lookAhead: (socket, sessionKey) => {
      if (!options.sessionsConfined) configsOf(socket).catch(() => undefined);
      return lookAt(socket, sessionKey);
    },
    ensure: async (socket, sessionKey, permission, ahead) => {
      const isGood = ahead?.socket === socket && performance.now() - ahead.at < LOOK_MS;
      const look = isGood ? ahead : lookAt(socket, sessionKey);
      const [problem, session] = await Promise.all([
        permission === 'agent-default' ? undefined : confinementProblem(socket),
        ensureMode(look, sessionKey, permission),
      ]);
      return problem === undefined ? session : { ok: false, why: problem };
    },
    mayBeResumed: async (socket, permission) =>
      permission === 'agent-default' || (await configsOf(socket)).every(deniesMessages),
  };
};

const lookAt = (socket: GatewaySocket, key: string): SessionLook => {
  const answer = socket.request('sessions.describe', { key });
  // Nobody may want it after all.
  answer.catch(() => undefined);
  return { socket, at: performance.now(), answer };
};

const ensureMode = async (
  { socket, answer: look }: SessionLook,
  key: string,
  permission: Permission,
): Promise<RightsOutcome> => {
  const wanted = permission === 'agent-default' ? null : permission;
  const { session } = described.parse(await look);
  if (session?.sessionId !== undefined && (session.permissionMode ?? null) === wanted && !session.permissionModePending)
    return { ok: true, sessionId: session.sessionId };
  const answer = patched.safeParse(await socket.request('sessions.patch', { key, permissionMode: wanted }));
  if (answer.success && (answer.data.entry.permissionMode ?? null) === wanted)
    return { ok: true, sessionId: answer.data.entry.sessionId };
  return {
    ok: false,
    why: `OpenClaw did not take the permission "${permission}" for this conversation, so the task is not run. Use an OpenClaw that knows permission modes (2026.9 or newer).`,
  };
};

/** A Gateway that shows us no configuration: all callers but its owner are refused until the operator vouches for it. */
const nothingShown = (error: unknown): object => {
  if (error instanceof GatewayError && error.code !== 'unreachable') return {};
  throw error;
};

/** The configuration as it is written and as it is in use, which differ while a change is taken in: both count. */
const readConfigs = async (socket: GatewaySocket): Promise<readonly Config[]> => {
  const { config, runtimeConfig } = configAnswer.parse(await socket.request('config.get', {}).catch(nothingShown));
  const shown = [config, runtimeConfig].filter((one) => one !== undefined && one !== null);
  // What we cannot read confines nobody.
  return shown.length === 0 ? [{}] : shown.map((one) => configShape.safeParse(one).data ?? {});
};
