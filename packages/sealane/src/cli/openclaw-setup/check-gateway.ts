import { GatewayError, isUnreachable } from '#agents/openclaw/gateway/gateway-error';
import { createGatewayLink } from '#agents/openclaw/gateway/gateway-link';
import { gatewayOptions, type GatewayInput } from '#agents/openclaw/gateway/gateway-options';
import type { GatewaySocket } from '#agents/openclaw/gateway/gateway-socket';
import { createSessionRights } from '#agents/openclaw/gateway/session-rights';

/** One thing that was looked at, live. */
export interface Finding {
  readonly name: 'gateway' | 'token' | 'agent' | 'sessions' | 'message tool';
  /** `failed`: no message gets through. `warning`: only the owner's do. `advice`: all do, and it could be better. */
  readonly level: 'ok' | 'advice' | 'warning' | 'failed';
  readonly detail: string;
  /** What to type or change, when it is not ok. */
  readonly next?: string;
}

/** What the operator has to set for callers other than the owner; the program itself writes it into the right file. */
export const CONFINE_SESSIONS = 'openclaw config set tools.sessions.visibility self';

/** Connects as the service would, and looks at all that its tasks need; stops where the rest cannot be seen. */
export const checkGateway = async (input: GatewayInput): Promise<readonly Finding[]> => {
  const options = gatewayOptions.strip().parse(input);
  const { url, connectTimeoutMs, requestTimeoutMs } = options;
  const link = createGatewayLink({
    url,
    token: options.token,
    scopes: ['operator.read', 'operator.write'],
    version: 'check',
    connectTimeoutMs,
    requestTimeoutMs,
  });
  const findings: Finding[] = [];
  try {
    const socket = await link.connected(AbortSignal.timeout(connectTimeoutMs + 1000), { tries: 1 });
    findings.push(
      { name: 'gateway', level: 'ok', detail: `OpenClaw ${socket.version} answers on ${url}` },
      { name: 'token', level: 'ok', detail: 'accepted, for reading and writing and no more' },
      await checkAgent(socket, options.agentId),
    );
    const rights = createSessionRights(options);
    const problem = await rights.confinementProblem(socket);
    findings.push(problem === undefined ? CONFINED : NOT_CONFINED);
    findings.push((await rights.mayBeResumed(socket, 'guarded')) ? NO_MESSAGE_TOOL : MESSAGE_TOOL);
  } catch (error) {
    findings.push(failureOf(error, url));
  } finally {
    link.close();
  }
  return findings;
};

const checkAgent = async (socket: GatewaySocket, agentId: string): Promise<Finding> => {
  const { agents = [] } = (await socket.request('agents.list', {})) as { agents?: readonly { id?: unknown }[] };
  const ids = agents.map(({ id }) => String(id));
  return ids.includes(agentId.toLowerCase())
    ? { name: 'agent', level: 'ok', detail: agentId }
    : {
        name: 'agent',
        level: 'failed',
        detail: `OpenClaw has no agent "${agentId}"; it has ${ids.join(', ') || 'none'}`,
        next: 'set agentId to one that `openclaw agents list` shows',
      };
};

const CONFINED: Finding = {
  name: 'sessions',
  level: 'ok',
  detail: 'an agent that works for others cannot reach your sessions',
};

const NOT_CONFINED: Finding = {
  name: 'sessions',
  level: 'warning',
  detail:
    'your own key is served; keys of others are refused, because OpenClaw would let their text reach your other sessions, which have more rights',
  next: `${CONFINE_SESSIONS}   # that is "tools": { "sessions": { "visibility": "self" } }`,
};

const NO_MESSAGE_TOOL: Finding = {
  name: 'message tool',
  level: 'ok',
  detail: 'denied, so work for others goes on after a crash of the Gateway',
};

const MESSAGE_TOOL: Finding = {
  name: 'message tool',
  level: 'advice',
  detail:
    'Sealane takes it from every run for others. A Gateway that crashed would give it back, so such runs are stopped then',
  next: 'to let them go on, add "message" to tools.deny in the configuration of OpenClaw',
};

const failureOf = (error: unknown, url: string): Finding => {
  const detail = error instanceof Error ? error.message : String(error);
  const failed = (name: Finding['name'], what: string, next: string): Finding => ({
    name,
    level: 'failed',
    detail: what,
    next,
  });
  if (isUnreachable(error)) return failed('gateway', detail, 'openclaw gateway run');
  if (!(error instanceof GatewayError) || error.code !== 'refused')
    return failed(
      'gateway',
      `The OpenClaw Gateway at ${url} answers otherwise than expected: ${detail}`,
      'openclaw doctor',
    );
  return error.detail?.startsWith('AUTH_')
    ? failed('token', detail, 'openclaw gateway restart   # if its token was changed while it ran')
    : failed('gateway', detail, 'openclaw doctor');
};
