import type { AgentConnector, Health, RunIo, Turn, TurnEnd } from '../../agent-connector.ts';
import { eitherSignal } from '../../either-signal.ts';
import { incomingMessage } from '../incoming-message.ts';
import { openclawSessionKey } from '../session-key.ts';
import type { EmbeddedOptions } from './embedded-options.ts';
import { embeddedRef } from './embedded-ref.ts';
import { Interrupted, NotBegun, runEmbeddedTurn } from './embedded-turn.ts';

/** In the keys of its sessions. A Sealane beside OpenClaw that uses the same Gateway has others. */
const SERVICE = 'sealane-plugin';

/**
 * An agent of the OpenClaw that we run inside of. Runs live and die with this process: what a crash interrupted is
 * dead when the next process looks for it, and only what had not begun is taken up again.
 */
export const createOpenclawEmbeddedAgent = (options: EmbeddedOptions): AgentConnector => {
  const closing = new AbortController();
  const live = new Set<Promise<unknown>>();

  const work = async (turn: Turn, io: RunIo): Promise<TurnEnd> => {
    const input = incomingMessage(turn.message);
    if (!input.ok) return { state: 'rejected', message: io.say(input.why), reason: 'refused' };
    using either = eitherSignal(io.signal, closing.signal);
    const run = runEmbeddedTurn({ turn, io, input, options, signal: either.signal });
    live.add(run);
    try {
      return await run;
    } catch (error) {
      if (error instanceof NotBegun && io.signal.reason === 'shutdown') return { state: 'failed', goesOn: true };
      if (io.signal.aborted) return { state: 'canceled' };
      if (closing.signal.aborted)
        return { state: 'failed', message: io.say(CLOSED), reason: 'unavailable', retryable: true };
      if (error instanceof Interrupted)
        return { state: 'failed', message: io.say(error.message), reason: 'interrupted' };
      throw error;
    } finally {
      live.delete(run);
    }
  };

  const health = async (): Promise<Health> => {
    const { runtime, agentId, isKnown } = options;
    try {
      const config = runtime.config.current();
      if (isKnown?.(config) === false) return { ok: false, detail: unknownAgent(agentId) };
      const workspace = runtime.agent.resolveAgentWorkspaceDir(config, agentId);
      return { ok: true, detail: `OpenClaw's agent ${agentId}, in this process, with the workspace ${workspace}` };
    } catch (error) {
      return { ok: false, detail: error instanceof Error ? error.message : String(error) };
    }
  };

  return {
    kind: 'openclaw',
    session: (scope) => openclawSessionKey(options.agentId, scope, SERVICE),
    run: work,
    reattach: async (ref, turn, io) => {
      const known = embeddedRef.safeParse(ref);
      return known.success && !known.data.hasBegun ? await work(turn, io) : 'gone';
    },
    // A run of this process ends by its signal; those of another have ended with it.
    stop: async () => 'dead',
    health,
    close: async () => {
      closing.abort();
      await Promise.allSettled(live);
    },
  };
};

const unknownAgent = (agentId: string): string =>
  `OpenClaw has no agent "${agentId}" any more. Name others in the plugin's setting agents, or let it look anew: openclaw plugins reload a2a-tasks`;

const CLOSED = 'The agent was closed while it worked. Send the message again.';
