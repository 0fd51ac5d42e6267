import type { Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';

import type { Part } from '#domain';
import { SealaneError, textOf } from '#domain';

import type { RunIo, Turn, TurnEnd } from '../agent-connector.ts';
import { childEnvironment, runVariables } from './child-environment.ts';
import type { ChildStreams } from './child-streams.ts';
import { openChildStreams } from './child-streams.ts';
import { fillCommand } from './command-line.ts';
import type { CommandOptions } from './command-options.ts';
import { inputOf } from './command-options.ts';
import { refOf } from './command-ref.ts';
import { createJsonOutput } from './json-output.ts';
import { createJsonlOutput } from './jsonl-output.ts';
import type { ProcessReader } from './process-table.ts';
import type { ProcessTree } from './process-tree.ts';
import { createProcessTree } from './process-tree.ts';
import { jsonInputOf, openProgramInput } from './program-input.ts';
import { tailOf, textOfStream } from './read-output.ts';
import type { Exit } from './start-program.ts';
import { startProgram } from './start-program.ts';
import type { Supervisor } from './supervisor.ts';
import { createTextOutput } from './text-output.ts';

export interface CommandRun {
  readonly options: CommandOptions;
  readonly supervisor: Supervisor;
  readonly reader: ProcessReader;
  /** The trees of live runs, for whoever lets them learn. */
  readonly trees: Set<ProcessTree>;
  readonly token: string;
}

/** When everybody is dead, a stream that says nothing for this long has nothing more to say. */
const QUIET_MS = 500;

const OUTPUTS = { text: createTextOutput, json: createJsonOutput, jsonl: createJsonlOutput } as const;

/**
 * Runs a program for a turn. The order is the promise: first the supervisor knows the run's mark, then it is durable,
 * then the program starts; and whatever happens, the whole tree is dead before the run is over.
 */
export const runCommand = async (turn: Turn, io: RunIo, run: CommandRun): Promise<TurnEnd> => {
  const { options, supervisor, reader, trees, token } = run;
  const text = textOf(turn.message.parts);
  const input = inputOf(options);
  if (input !== 'json' && turn.message.parts.length > 0 && turn.message.parts.every(isNoText)) {
    return rejected(io, 'This agent reads text only. Send a message with a text part.');
  }
  const { contextId, taskId, session } = turn;
  const line = fillCommand(options.command, { message: text, contextId, taskId, session });
  if (!line.ok) return rejected(io, line.why);
  const first = { argument: () => undefined, stdin: () => text, json: () => jsonInputOf(turn) }[input];

  const streams = await openChildStreams();
  try {
    const stdin = await first();
    const mark = { token, since: await reader.now(), sockets: streams.inodes };
    const tree = createProcessTree(mark, reader);
    await Promise.race([supervisor.watch(mark), whenAborted(io.signal)]);
    if (io.signal.aborted) return { state: 'canceled' };
    await io.remember(await refOf(mark, reader));
    if (io.signal.aborted) return { state: 'canceled' };
    const env = { ...childEnvironment(options, process.env), ...runVariables(turn, io, token, process.env) };
    const started = await startProgram({ ...line, cwd: options.cwd ?? process.cwd(), env, streams });
    if (!started.ok) return failed(io, 'not-started', started.why, started.retryable, started.detail);
    tree.add(started.pid);
    trees.add(tree);
    supervisor.started(token, started.pid);
    try {
      const wasEnded = (): boolean => supervisor.hasEnded(token);
      return await follow({ turn, io, options, streams, stdin, tree, exited: started.exited, wasEnded });
    } finally {
      trees.delete(tree);
    }
  } finally {
    streams.destroy();
    supervisor.unwatch(token);
  }
};

interface Followed {
  readonly turn: Turn;
  readonly io: RunIo;
  readonly options: CommandOptions;
  readonly streams: ChildStreams;
  /** What the program reads first. */
  readonly stdin: string | undefined;
  readonly tree: ProcessTree;
  readonly exited: Promise<Exit>;
  /** The supervisor has ended it. */
  readonly wasEnded: () => boolean;
}

/** From a program that has started to a tree that is dead, and what it meant. */
const follow = async (run: Followed): Promise<TurnEnd> => {
  const { turn, io, options, streams, stdin, tree, exited } = run;
  const { killGraceMs, output: format, maxOutputBytes, maxStderrBytes } = options;
  const aborted = whenAborted(io.signal);
  const broken = Promise.withResolvers<void>();
  let problem: { readonly error: unknown } | undefined;
  const onError = (error: unknown): void => {
    problem ??= { error };
    broken.resolve();
  };
  const stderr = tailOf(streams.stderr, maxStderrBytes);
  const input = openProgramInput(streams.stdin, {
    first: stdin,
    staysOpen: format === 'jsonl' && inputOf(options) !== 'stdin',
    isSteered: options.steer,
    inbox: io.inbox,
    onError,
  });
  const output = OUTPUTS[format]({
    artifactId: `answer-${turn.number}`,
    say: (text) => io.say(text),
    emit: async (event) => {
      if (!io.signal.aborted) await io.emit(event);
    },
    expectAnswer: () => input.expectAnswer(),
    onEnd: () => {
      input.end();
      // Its last word is said: it may tidy up, but not stay.
      void setTimeout(killGraceMs, undefined, { ref: false }).then(broken.resolve);
    },
  });
  const read = output.read(textOfStream(streams.stdout, maxOutputBytes)).catch(onError);

  await Promise.race([exited, broken.promise, aborted]);
  await tree.end({ graceMs: killGraceMs });
  const exit = await exited;
  input.end();
  await Promise.race([aborted, allRead(streams.stdout, read)]);

  const said = output.said();
  if (io.signal.aborted) return { state: 'canceled' };
  if (said) return said;
  if (exit.signal !== null && run.wasEnded()) return interrupted(io, options);
  try {
    if (problem) throw problem.error;
    return exit.code === 0 ? await output.conclude() : failedExit(io, options, exit, stderr());
  } catch (error) {
    if (error instanceof SealaneError) return failed(io, error.facts['reason'] ?? error.code, error.message, false);
    throw error;
  }
};

const whenAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

/**
 * Waits for the end of the output of a tree that is dead. If it does not come, the stream is held by somebody who is
 * older than the run and was handed it: nothing of ours will come through it any more.
 */
const allRead = async (stdout: Socket, read: Promise<void>): Promise<void> => {
  for (let before = -1; ; before = stdout.bytesRead) {
    const timer = new AbortController();
    const late = setTimeout(QUIET_MS, 'late', { signal: timer.signal }).catch(() => 'late');
    const first = await Promise.race([read, late]);
    timer.abort();
    if (first !== 'late') return;
    if (stdout.bytesRead === before && stdout.readableLength === 0) stdout.push(null);
  }
};

const isNoText = ({ text }: Part): boolean => text === undefined;

const rejected = (io: RunIo, why: string): TurnEnd => ({
  state: 'rejected',
  message: io.say(why),
  reason: 'bad-message',
});

const failed = (io: RunIo, reason: string, why: string, retryable: boolean, detail?: string): TurnEnd => ({
  state: 'failed',
  message: io.say(why),
  reason,
  retryable,
  ...(detail !== undefined && { detail }),
});

const interrupted = (io: RunIo, { command, beatLimitMs }: CommandOptions): TurnEnd => {
  const why = `Sealane stood still for longer than ${beatLimitMs / 1000} s, so the program ${command[0]} was ended.`;
  return failed(io, 'interrupted', why, true, `${why} If that happens again and again, raise beatLimitMs.`);
};

const failedExit = (io: RunIo, { command }: CommandOptions, { code, signal }: Exit, stderr: string): TurnEnd => {
  const how = signal === null ? `ended with exit code ${code}` : `was killed by ${signal}`;
  const words = stderr.trim() === '' ? '' : ` It said: ${stderr.trim()}`;
  const hint = OPENED_BY_NAME.every((pattern) => pattern.test(stderr)) ? ` ${STREAMS_ARE_SOCKETS}` : '';
  return failed(
    io,
    signal === null ? 'exit-code' : 'signal',
    `The program ${command[0]} ${how}.${hint}${words}`,
    false,
  );
};

/** What the system says of /dev/stdin and its like when they are sockets. */
const OPENED_BY_NAME = [/\/dev\/(std(in|out|err)|fd\/\d)/, /no such device or address/i];
const STREAMS_ARE_SOCKETS =
  'Its standard streams are sockets, which Linux does not open by name: read and write them as they are (`cat`, `-`, `>&2`) instead of by /dev/stdin, /dev/stdout and /dev/stderr.';
