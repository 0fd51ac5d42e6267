import { setTimeout as delay } from 'node:timers/promises';

import { type Part, textOf } from '#domain';

import type { AgentConnector, RunIo, Turn, TurnEnd } from '../agent-connector.ts';
import { sessionKeyOf } from '../session-key.ts';

/**
 * The built-in agent: it says back what it hears. A message that starts with `@` and one of the words below makes it
 * do something else, so that clients, demos and tests can see every way a task can go without a model.
 */
type Directive = (argument: string, turn: Turn, io: RunIo) => Promise<TurnEnd>;

const DIRECTIVES: Readonly<Record<string, Directive>> = {
  /** `@sleep MS` */
  sleep: async (argument, turn, io) => {
    await pause(numberOf(argument, 0), io.signal);
    return await answer(`slept ${numberOf(argument, 0)} ms`, turn, io);
  },
  /** `@stream N MS`: N chunks of a hundred bytes, MS apart. */
  stream: async (argument, turn, io) => {
    const [count = '1', apart = '0'] = argument.split(/\s+/);
    return await stream(numberOf(count, 1), numberOf(apart, 0), turn, io);
  },
  fail: async (argument, _turn, io) => ({
    state: 'failed',
    message: io.say(argument || 'failed as asked'),
    reason: 'agent',
  }),
  /** The answer to the question completes the task. */
  ask: async (argument, _turn, io) => ({ state: 'input-required', message: io.say(argument || 'What do you mean?') }),
  auth: async (argument, _turn, io) => ({ state: 'auth-required', message: io.say(argument || 'Please sign in.') }),
  reject: async (argument, _turn, io) => ({
    state: 'rejected',
    message: io.say(argument || 'rejected as asked'),
    reason: 'agent',
  }),
  file: async (_argument, turn, io) =>
    await answerParts(
      [{ raw: Buffer.from('hello from sealane\n').toString('base64'), mediaType: 'text/plain', filename: 'hello.txt' }],
      turn,
      io,
    ),
  data: async (_argument, turn, io) =>
    await answerParts([{ data: { echo: true, turn: turn.number }, mediaType: 'application/json' }], turn, io),
  message: async (argument, _turn, io) => ({ state: 'completed', message: io.say(argument) }),
  /** `@big BYTES` */
  big: async (argument, turn, io) => await answer('x'.repeat(numberOf(argument, 1000)), turn, io),
};

const directiveOf = (text: string): { readonly name: string; readonly argument: string } | undefined => {
  const [, name, argument] = /^@([a-z]+)(?:\s+([\s\S]*))?$/.exec(text.trim()) ?? [];
  return name !== undefined && Object.hasOwn(DIRECTIVES, name) ? { name, argument: argument?.trim() ?? '' } : undefined;
};

export const createEchoAgent = (): AgentConnector => ({
  kind: 'echo',
  session: sessionKeyOf,
  run: async (turn, io) => {
    const directive = directiveOf(textOf(turn.message.parts));
    if (!directive) return await answerParts(turn.message.parts, turn, io);
    try {
      return (await DIRECTIVES[directive.name]?.(directive.argument, turn, io)) ?? { state: 'completed' };
    } catch (error) {
      if (io.signal.aborted) return { state: 'canceled' };
      throw error;
    }
  },
  // It runs in this process: when the process is gone, so is the run.
  stop: async () => 'dead',
  answersDirectly: (message) => directiveOf(textOf(message.parts))?.name === 'message',
  health: async () => ({ ok: true, detail: 'built in' }),
  close: async () => undefined,
});

const answer = (text: string, turn: Turn, io: RunIo): Promise<TurnEnd> => answerParts([{ text }], turn, io);

const answerParts = async (parts: readonly Part[], turn: Turn, io: RunIo): Promise<TurnEnd> => {
  await io.emit({ kind: 'artifact', artifact: { artifactId: `answer-${turn.number}`, parts }, lastChunk: true });
  return { state: 'completed' };
};

const CHUNK_BYTES = 100;

const stream = async (count: number, apartMs: number, turn: Turn, io: RunIo): Promise<TurnEnd> => {
  const artifactId = `answer-${turn.number}`;
  for (let number = 1; number <= count; number += 1) {
    if (io.signal.aborted) return { state: 'canceled' };
    const text = `${`chunk ${number} of ${count} `.padEnd(CHUNK_BYTES - 1, '.')}\n`;
    await io.emit({
      kind: 'artifact',
      artifact: { artifactId, parts: [{ text }] },
      append: number > 1,
      lastChunk: number === count,
    });
    if (apartMs > 0 && number < count) await pause(apartMs, io.signal);
  }
  return { state: 'completed' };
};

const pause = async (ms: number, signal: AbortSignal): Promise<void> => {
  await delay(ms, undefined, { signal });
};

const LARGEST = 100_000_000;
const numberOf = (text: string, fallback: number): number => {
  const number = Number(text);
  return text !== '' && Number.isFinite(number) && number >= 0 ? Math.min(Math.floor(number), LARGEST) : fallback;
};
