import { z } from 'zod';

import { SealaneError } from '#domain';

import type { AgentConnector, Health, LookAhead, RunIo, Turn, TurnEnd } from '../../agent-connector.ts';
import { incomingMessage } from '../incoming-message.ts';
import { openclawSessionKey } from '../session-key.ts';
import { beginningOf } from '../text-chunks.ts';
import { APPROVER_CAPS, APPROVER_SCOPES, createApprover } from './approver.ts';
import { GatewayError } from './gateway-error.ts';
import { createGatewayLink } from './gateway-link.ts';
import { type GatewayInput, type GatewayOptions, gatewayOptions } from './gateway-options.ts';
import { gatewayRef, type GatewayRef, NOT_BEGUN } from './gateway-ref.ts';
import { Refusal, runTurn } from './run-turn.ts';
import { createSessionRights, type SessionLook } from './session-rights.ts';
import { stopRun } from './stop-run.ts';

/** The version that the Gateway's own lists show for us. */
const CLIENT_VERSION = '0.1.0';

/** How long a connector that closes tries to stop its runs; a Gateway that is down cannot be told. */
const CLOSE_MS = 2000;

const agentList = z.object({ agents: z.array(z.object({ id: z.string() })) });

/**
 * An agent of a running OpenClaw, over one WebSocket to its Gateway. Runs are the Gateway's: they go on when the
 * connection breaks or Sealane is started anew, and are found again. Remote text has no power: runs never have the
 * rights of an administrator, and every conversation gets its caller's permission before its text is handed over.
 */
export const createOpenclawGatewayAgent = (input: GatewayInput): AgentConnector => {
  const options = parse(input);
  const place = {
    url: options.url,
    token: options.token,
    version: CLIENT_VERSION,
    connectTimeoutMs: options.connectTimeoutMs,
    requestTimeoutMs: options.requestTimeoutMs,
  };
  // Never `operator.admin`: with it, every run would carry its owner's rights.
  const scopes = ['operator.read', 'operator.write', ...(options.approvals === 'deny' ? [] : ['operator.approvals'])];
  const link = createGatewayLink({ ...place, scopes });
  const turns = new Set<{ readonly taskId: string; readonly runIds: ReadonlySet<string> }>();
  const approver =
    options.approvals === 'sealane'
      ? createApprover(
          createGatewayLink({ ...place, scopes: APPROVER_SCOPES, caps: APPROVER_CAPS }),
          ({ runId, sessionKey }) =>
            turns.values().find(({ runIds }) => runIds.has(runId))?.taskId ??
            (isOwnSession(options, sessionKey) ? taskOfRun(runId) : undefined),
        )
      : undefined;
  const rights = createSessionRights(options);
  const closing = new AbortController();
  const givingUp = new AbortController();
  const live = new Set<Promise<unknown>>();

  /** What `lookAhead` answered, as only this connector knows it. */
  const looks = new WeakSet<object>();
  const isLook = (ahead: LookAhead | undefined): ahead is SessionLook => ahead !== undefined && looks.has(ahead);

  /** What the Gateway says of an agent that was removed depends on what it has kept of it. */
  const isAgentMissing = async (): Promise<boolean> => {
    const listed = agentList.safeParse(
      await link
        .current()
        ?.request('agents.list', {})
        .catch(() => undefined),
    );
    return listed.success && !listed.data.agents.some(({ id }) => id === options.agentId.toLowerCase());
  };

  const work = async (
    turn: Turn,
    io: RunIo,
    { known, ahead }: { readonly known?: GatewayRef; readonly ahead?: LookAhead | undefined },
  ): Promise<TurnEnd | 'gone'> => {
    if (closing.signal.aborted) return failed(io, 'unavailable', CLOSED, true);
    if (!options.allowedPermissions.includes(turn.permission))
      return rejected(io, `This agent does not serve keys with the permission "${turn.permission}".`);
    const message = incomingMessage(turn.message);
    if (!message.ok) return rejected(io, message.why);
    const runIds = new Set<string>();
    const run = runTurn(
      {
        turn,
        io,
        input: message,
        link,
        rights,
        ahead: isLook(ahead) ? ahead : undefined,
        runIds,
        attended: async (signal) => await approver?.attend(signal),
        options,
        closing: closing.signal,
        givingUp: givingUp.signal,
      },
      known,
    );
    live.add(run);
    const own = { taskId: turn.taskId, runIds };
    turns.add(own);
    try {
      const end = await run;
      const wasClosed = end !== 'gone' && end.state === 'canceled' && closing.signal.aborted && !io.signal.aborted;
      return wasClosed ? failed(io, 'unavailable', CLOSED, true) : end;
    } catch (error) {
      if (error instanceof Refusal) return rejected(io, error.message);
      if (error instanceof GatewayError) return failedBy(io, error, options, await isAgentMissing());
      if (error instanceof z.ZodError) return failed(io, 'agent', `${NOT_UNDERSTOOD} ${z.prettifyError(error)}`, false);
      throw error;
    } finally {
      live.delete(run);
      turns.delete(own);
    }
  };

  const health = async (): Promise<Health> => {
    try {
      const socket = await link.connected(AbortSignal.timeout(options.connectTimeoutMs + 1000), { tries: 1 });
      const { agents } = agentList.parse(await socket.request('agents.list', {}));
      if (!agents.some(({ id }) => id === options.agentId.toLowerCase()))
        return {
          ok: false,
          detail: unknownAgent(
            options,
            agents.map(({ id }) => id),
          ),
        };
      const problem =
        (await rights.confinementProblem(socket)) ??
        (await approver?.problem(AbortSignal.timeout(options.connectTimeoutMs + 1000)));
      const where = `OpenClaw ${socket.version} at ${options.url}`;
      return problem === undefined ? { ok: true, detail: where } : { ok: false, detail: `${where}. ${problem}` };
    } catch (error) {
      return { ok: false, detail: error instanceof Error ? error.message : String(error) };
    }
  };

  return {
    kind: 'openclaw',
    session: (scope) => openclawSessionKey(options.agentId, scope),
    lookAhead: (session) => {
      const socket = link.current();
      if (!socket) return undefined;
      const look = rights.lookAhead(socket, session);
      looks.add(look);
      return look;
    },
    run: async (turn, io, ahead) => {
      const end = await work(turn, io, { ahead });
      return end === 'gone' ? failed(io, 'interrupted', LOST, false) : end;
    },
    reattach: async (ref, turn, io) => {
      const known = gatewayRef.safeParse(ref);
      return known.success ? await work(turn, io, { known: known.data }) : 'gone';
    },
    stop: async (ref, signal) => {
      const known = gatewayRef.safeParse(ref);
      if (!known.success) return 'unknown';
      if (known.data.bootId === NOT_BEGUN) return 'dead';
      try {
        return await stopRun(link, known.data, { signal, resumeWaitMs: options.resumeWaitMs });
      } catch {
        return 'unknown';
      }
    },
    ...(approver && { approvals: approver.approvals }),
    health,
    close: async () => {
      closing.abort();
      setTimeout(() => givingUp.abort(), CLOSE_MS).unref();
      await Promise.allSettled(live);
      approver?.close();
      link.close();
    },
  };
};

/** A conversation that a Sealane has with this agent. */
const isOwnSession = ({ agentId }: GatewayOptions, sessionKey: string): boolean =>
  sessionKey.startsWith(`agent:${agentId.toLowerCase()}:sealane:`);

/** Run ids begin with their task's: so the run of another instance is known, too. */
const taskOfRun = (runId: string): string | undefined => /^(.+)\.\d+\.\d+(?:-\d+)?$/.exec(runId)?.[1];

const CLOSED = 'The agent was closed while it worked. Send the message again.';
const NOT_UNDERSTOOD =
  'OpenClaw answered in a way that Sealane does not understand; is it a version that Sealane knows?';
const LOST = 'OpenClaw was restarted while it worked, and did not take the work up again. Send the message again.';

const rejected = (io: RunIo, why: string): TurnEnd => ({ state: 'rejected', message: io.say(why), reason: 'refused' });

const failed = (io: RunIo, reason: string, why: string, retryable: boolean): TurnEnd => ({
  state: 'failed',
  message: io.say(beginningOf(why)),
  reason,
  retryable,
});

const failedBy = (io: RunIo, error: GatewayError, options: GatewayOptions, isAgentMissing: boolean): TurnEnd => {
  if (error.code === 'refused') return failed(io, 'unauthorized', error.message, false);
  if (error.code === 'unreachable') return failed(io, 'unavailable', error.message, true);
  if (isAgentMissing || /no longer exists in configuration|unknown agent/i.test(error.message))
    return failed(io, 'bad-config', unknownAgent(options), false);
  return failed(io, 'agent', `OpenClaw refused the message: ${error.message}`, false);
};

const unknownAgent = ({ agentId }: GatewayOptions, known: readonly string[] = []): string =>
  `OpenClaw has no agent "${agentId}"${known.length > 0 ? `, only ${known.join(', ')}` : ''}. Set agentId to one that \`openclaw agents list\` shows.`;

const parse = (input: GatewayInput): GatewayOptions => {
  const parsed = gatewayOptions.safeParse(input);
  if (parsed.success) return parsed.data;
  throw new SealaneError('bad-config', `The agent's options are not right:\n${z.prettifyError(parsed.error)}`);
};
