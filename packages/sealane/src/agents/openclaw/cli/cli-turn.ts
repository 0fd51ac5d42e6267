import { stripVTControlCharacters } from 'node:util';

import { textOf } from '#domain';

import type { RunIo, Turn, TurnEnd } from '../../agent-connector.ts';
import type { CommandOptions } from '../../command/command-options.ts';
import { type CommandRun, runCommand } from '../../command/command-run.ts';
import { eitherSignal } from '../../either-signal.ts';
import { openCliCommand } from './cli-command.ts';
import { type CliFailure, failureOf, inOurWords } from './cli-failure.ts';
import type { CliOptions } from './cli-options.ts';
import { type CliOutcome, readCliOutput } from './cli-output.ts';
import { takeStateDir } from './state-dir-turns.ts';
import { statePlaceOf } from './state-place.ts';
import { tellAnswer } from './tell-answer.ts';

export interface CliTurn {
  readonly turn: Turn;
  /** What the program is told. */
  readonly text: string;
  readonly io: RunIo;
  readonly options: CliOptions;
  /** What runs of programs share. */
  readonly programs: Omit<CommandRun, 'options'>;
}

const MAX_STDERR_BYTES = 4096;

/** One turn: wait for the state directory, run the program to its end, and make sense of what it printed. */
export const runCliTurn = async (run: CliTurn): Promise<TurnEnd> => {
  const { turn, io, options } = run;
  const { stateDir, env } = statePlaceOf(options, turn.session, process.env);
  let giveBack = (): void => undefined;
  // A Gateway takes care of the order itself.
  if (options.local) {
    try {
      giveBack = await takeStateDir(stateDir, {
        signal: io.signal,
        onWait: () => void io.emit({ kind: 'status', message: io.say(WAITING) }).catch(() => undefined),
      });
    } catch {
      return { state: 'canceled' };
    }
  }
  try {
    const outcome = await runProgram(run, env);
    if (!('kind' in outcome)) return outcome;
    if (outcome.kind === 'answer') return await tellAnswer(outcome, { turn, io, options, stateDir });
    if (outcome.kind === 'failure') return failed(io, outcome);
    const { metadata } = outcome;
    return { state: 'canceled', metadata, reason: 'stopped', message: io.say('The run was stopped in OpenClaw.') };
  } finally {
    giveBack();
  }
};

const WAITING = 'Waiting for another run of OpenClaw in the same state directory.';

const runProgram = async (run: CliTurn, env: Readonly<Record<string, string>>): Promise<CliOutcome | TurnEnd> => {
  const { turn, text, io, options, programs } = run;
  await using line = await openCliCommand(options, text);
  const limit = AbortSignal.timeout(options.timeoutSeconds * 1000);
  using either = eitherSignal(io.signal, limit);
  const printed: string[] = [];
  const inner: RunIo = {
    signal: either.signal,
    attempt: io.attempt,
    inbox: io.inbox,
    say: (words) => io.say(words),
    // Whoever stops it later has to know whether the program was all there is to stop.
    remember: (ref) => io.remember({ ...ref, local: options.local }),
    emit: async (event) => {
      if (event.kind === 'artifact') printed.push(textOf(event.artifact.parts));
    },
  };
  const asked: Turn = { ...turn, message: { ...turn.message, parts: [{ text }] } };
  const end = await runCommand(asked, inner, {
    ...programs,
    options: { ...commandOf(options), command: line.command, env },
  });
  if (end.state === 'rejected') return end;
  if (end.state === 'canceled') return limit.aborted && !io.signal.aborted ? timedOut(options) : end;
  return understand(end, printed.join(''), options);
};

const commandOf = (options: CliOptions): Omit<CommandOptions, 'command' | 'env'> => ({
  input: 'argument',
  output: 'text',
  steer: false,
  ...(options.workingDirectory !== undefined && { cwd: options.workingDirectory }),
  inheritEnv: options.inheritEnv,
  killGraceMs: options.killGraceMs,
  maxOutputBytes: options.maxOutputBytes,
  maxStderrBytes: MAX_STDERR_BYTES,
  beatLimitMs: options.beatLimitMs,
});

/** What the program printed counts; how it ended and what it said beside counts where it printed nothing of use. */
const understand = (end: TurnEnd, printed: string, { local }: CliOptions): CliOutcome => {
  const said = stripVTControlCharacters(textOf(end.message?.parts ?? []));
  const hasEnded = end.state === 'completed' || ENDS_OF_PROGRAMS.has(end.reason ?? '');
  if (!hasEnded)
    return {
      ...failureOf(inOurWords(said)),
      reason: end.reason ?? 'agent',
      retryable: end.retryable === true,
      ...(end.detail !== undefined && { detail: inOurWords(end.detail) }),
    };
  const outcome = readCliOutput(printed, { endedWell: end.state === 'completed' });
  if (outcome) return outcome;
  if (end.state === 'completed') {
    const shown = printed.trim().slice(0, 200);
    return {
      ...failureOf(`OpenClaw printed no answer that can be read: ${shown || 'nothing at all'}`),
      reason: 'bad-output',
    };
  }
  const wasKilled = end.reason !== 'exit-code' || /exit code (130|137|143)\b/.test(said);
  if (!wasKilled) return failureOf(said);
  // A Gateway goes on with the work of a client that was killed: another try would do it twice.
  const reason = end.reason === 'interrupted' ? 'interrupted' : 'signal';
  return { ...failureOf(`OpenClaw was killed before it answered. ${said}`), reason, retryable: local };
};

const ENDS_OF_PROGRAMS: ReadonlySet<string> = new Set(['exit-code', 'signal', 'interrupted']);

const timedOut = ({ timeoutSeconds }: CliOptions): CliFailure => ({
  kind: 'failure',
  reason: 'timeout',
  why: `OpenClaw timed out after ${timeoutSeconds} s and was ended. Raise \`timeoutSeconds\` if it needs longer.`,
  retryable: false,
  metadata: {},
});

const failed = (io: RunIo, { reason, why, retryable, metadata, detail }: CliFailure): TurnEnd => ({
  state: 'failed',
  message: io.say(why),
  metadata,
  reason,
  retryable,
  ...(detail !== undefined && { detail }),
});
