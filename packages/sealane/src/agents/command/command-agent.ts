import { randomBytes } from 'node:crypto';

import { SealaneError } from '#domain';

import type { AgentConnector } from '../agent-connector.ts';
import { eitherSignal } from '../either-signal.ts';
import { sessionKeyOf } from '../session-key.ts';
import { childEnvironment } from './child-environment.ts';
import type { CommandInput } from './command-options.ts';
import { commandOptions } from './command-options.ts';
import { stopRef } from './command-ref.ts';
import { runCommand } from './command-run.ts';
import { findProgram } from './find-program.ts';
import { noRoom } from './no-room.ts';
import type { ProcessTree } from './process-tree.ts';
import { keepLearning, systemReader } from './process-tree.ts';
import { CLOSED, parseProgramOptions, unavailable, withSignal } from './program-agent.ts';
import { useSupervisor } from './supervisor.ts';

/** How often live runs note their processes. */
const LEARN_EVERY_MS = 1000;

/**
 * An agent that is a program. Each turn is one process tree, in a session of its own and without a shell, and no turn
 * is over before its tree is dead: not after an abort, not after a program that left something running, and not when
 * Sealane itself is killed, since a supervisor then ends what is left.
 */
export const createCommandAgent = (options: CommandInput): AgentConnector => {
  const settings = parseProgramOptions(commandOptions, options);
  const reader = systemReader();
  const supervisor = useSupervisor(settings.beatLimitMs);
  const trees = new Set<ProcessTree>();
  const learning = keepLearning(() => trees, reader, LEARN_EVERY_MS);
  const live = new Set<Promise<unknown>>();
  const closing = new AbortController();
  let closed: Promise<void> | undefined;

  return {
    kind: 'command',
    session: sessionKeyOf,
    steerable: settings.steer,

    run: async (turn, io) => {
      if (closing.signal.aborted) return unavailable(io, CLOSED);
      using either = eitherSignal(io.signal, closing.signal);
      const token = randomBytes(16).toString('hex');
      const run = runCommand(turn, withSignal(io, either.signal), {
        options: settings,
        supervisor,
        reader,
        trees,
        token,
      });
      live.add(run);
      try {
        const end = await run;
        return end.state === 'canceled' && !io.signal.aborted ? unavailable(io, CLOSED) : end;
      } catch (error) {
        const why = error instanceof SealaneError ? (error.forCallers ?? error.message) : noRoom(error);
        if (why !== undefined) return unavailable(io, why);
        throw error;
      } finally {
        live.delete(run);
      }
    },

    stop: (ref, signal) => stopRef(ref, { reader, graceMs: settings.killGraceMs, signal }),

    health: async () => {
      const [program = ''] = settings.command;
      const found = await findProgram(program, settings.cwd ?? process.cwd(), childEnvironment(settings, process.env));
      return found.ok ? { ok: true, detail: `The program is ${found.path}.` } : { ok: false, detail: found.why };
    },

    close: () =>
      (closed ??= (async () => {
        closing.abort();
        await Promise.allSettled(live);
        learning[Symbol.dispose]();
        await supervisor.close();
      })()),
  };
};
