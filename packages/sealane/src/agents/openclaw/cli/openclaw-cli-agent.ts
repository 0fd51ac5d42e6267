import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';

import { SealaneError } from '#domain';

import type { AgentConnector, Health, Turn } from '../../agent-connector.ts';
import { childEnvironment } from '../../command/child-environment.ts';
import { stopRef } from '../../command/command-ref.ts';
import { findProgram } from '../../command/find-program.ts';
import { noRoom } from '../../command/no-room.ts';
import { keepLearning, type ProcessTree, systemReader } from '../../command/process-tree.ts';
import { CLOSED, parseProgramOptions, unavailable, withSignal } from '../../command/program-agent.ts';
import { useSupervisor } from '../../command/supervisor.ts';
import { eitherSignal } from '../../either-signal.ts';
import { incomingMessage, withoutCommand } from '../incoming-message.ts';
import { MAX_MESSAGE_BYTES } from './cli-command.ts';
import { inOurWords } from './cli-failure.ts';
import { type CliInput, type CliOptions, cliOptions } from './cli-options.ts';
import { cliSessionId } from './cli-session.ts';
import { runCliTurn } from './cli-turn.ts';

/** How often live runs note their processes. */
const LEARN_EVERY_MS = 1000;
const VERSION_TIMEOUT_MS = 4000;

/**
 * OpenClaw as a program: each turn is one `openclaw agent`, whose session keeps the conversation. The program has all
 * rights of whoever runs Sealane, so only keys that have them too are served, unless the operator trusts everybody
 * with a key. As with every program, no turn is over before its processes are dead.
 */
export const createOpenclawCliAgent = (input: CliInput = {}): AgentConnector => {
  const options = parseProgramOptions(cliOptions, input);
  const reader = systemReader();
  const supervisor = useSupervisor(options.beatLimitMs);
  const trees = new Set<ProcessTree>();
  const learning = keepLearning(() => trees, reader, LEARN_EVERY_MS);
  const live = new Set<Promise<unknown>>();
  const closing = new AbortController();
  let closed: Promise<void> | undefined;

  return {
    kind: 'openclaw',
    session: cliSessionId,
    answersDirectly: () => !options.asyncMode,

    run: async (turn, io) => {
      if (closing.signal.aborted) return unavailable(io, CLOSED);
      const text = textFor(turn, options);
      if (!text.ok) return { state: 'rejected', message: io.say(text.why), reason: text.reason };
      const token = randomBytes(16).toString('hex');
      using either = eitherSignal(io.signal, closing.signal);
      const programs = { supervisor, reader, trees, token };
      const run = runCliTurn({ turn, text: text.text, io: withSignal(io, either.signal), options, programs });
      live.add(run);
      try {
        const end = await run;
        const wasClosed = end.state === 'canceled' && closing.signal.aborted && !io.signal.aborted;
        return wasClosed ? unavailable(io, CLOSED) : end;
      } catch (error) {
        const why = error instanceof SealaneError ? (error.forCallers ?? error.message) : noRoom(error);
        if (why !== undefined) return unavailable(io, why);
        throw error;
      } finally {
        live.delete(run);
      }
    },

    stop: async (ref, signal) => {
      const fate = await stopRef(ref, { reader, graceMs: options.killGraceMs, signal });
      // A Gateway goes on with a run whose client was killed, and nobody here can ask it.
      return ref['local'] === true ? fate : 'unknown';
    },

    health: () => healthOf(options),

    close: () =>
      (closed ??= (async () => {
        closing.abort();
        await Promise.allSettled(live);
        learning[Symbol.dispose]();
        await supervisor.close();
      })()),
  };
};

const NOT_TRUSTED =
  'This agent runs with all rights of its owner and serves only keys with the permission "agent-default". The operator can give this key that permission, set `trustCallers: true` for the agent, or connect OpenClaw by its Gateway (`via: gateway`), which keeps to the permission of each key.';

type TextFor =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly reason: string; readonly why: string };

/** What the program is told, or why this caller or message is not for it. */
const textFor = ({ permission, message }: Turn, { trustCallers }: CliOptions): TextFor => {
  const refuse = (why: string, reason = 'bad-message'): TextFor => ({ ok: false, reason, why });
  if (permission !== 'agent-default' && !trustCallers) return refuse(NOT_TRUSTED, 'refused');
  const incoming = incomingMessage(message);
  if (!incoming.ok) return refuse(incoming.why);
  if (incoming.images.length > 0)
    return refuse('The OpenClaw program takes no images. Send a link, or connect OpenClaw by its Gateway.');
  const text = withoutCommand(incoming.text);
  if (text.includes('\0')) return refuse('A NUL character cannot be given to this agent. Send the message without it.');
  if (Buffer.byteLength(text) > MAX_MESSAGE_BYTES)
    return refuse(`The OpenClaw program takes at most ${MAX_MESSAGE_BYTES} bytes. Send a link to the long text.`);
  return { ok: true, text };
};

const healthOf = async (options: CliOptions): Promise<Health> => {
  const env = { ...childEnvironment(options, process.env), OPENCLAW_NO_RESPAWN: '1', NO_COLOR: '1' };
  const cwd = options.workingDirectory ?? process.cwd();
  const found = await findProgram(options.path, cwd, env);
  if (!found.ok) return { ok: false, detail: inOurWords(found.why) };
  const run = promisify(execFile);
  try {
    const { stdout } = await run(found.path, ['--version'], {
      cwd,
      env,
      timeout: VERSION_TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    const [version] = /OpenClaw \d\S*/.exec(stdout) ?? [];
    if (version === undefined)
      return {
        ok: false,
        detail: `${found.path} is not OpenClaw: it says "${stdout.trim().slice(0, 100)}". Correct \`path\`.`,
      };
    return { ok: true, detail: `${version} at ${found.path}.${options.trustCallers ? TRUSTING : ''}` };
  } catch (error) {
    const why = error instanceof Error ? error.message.trim() : String(error);
    return { ok: false, detail: `${found.path} --version does not work: ${why}` };
  }
};

const TRUSTING = ' Warning: trustCallers is on, so everybody with a key has all rights of the owner.';
