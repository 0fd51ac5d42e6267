import { z } from 'zod';

import { SealaneError } from '#domain';

import type { RunIo, TurnEnd } from '../agent-connector.ts';

// What every agent that is a program has in common, whatever the program.

export const CLOSED = 'The agent was closed while it worked. Send the message again.';

export const unavailable = (io: RunIo, why: string): TurnEnd => ({
  state: 'failed',
  message: io.say(why),
  reason: 'unavailable',
  retryable: true,
});

/** The same run, ended by another signal as well. */
export const withSignal = (io: RunIo, signal: AbortSignal): RunIo => ({
  signal,
  attempt: io.attempt,
  inbox: io.inbox,
  remember: (ref) => io.remember(ref),
  emit: (event) => io.emit(event),
  say: (text) => io.say(text),
});

/** The options of a program with their defaults; refused where no program can be an agent. */
export const parseProgramOptions = <Schema extends z.ZodType>(
  schema: Schema,
  input: z.input<Schema>,
): z.output<Schema> => {
  if (process.platform === 'win32') {
    throw new SealaneError('bad-config', 'Programs can be agents on Linux and macOS only. Run Sealane in WSL.');
  }
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  throw new SealaneError('bad-config', `The agent's options are not right:\n${z.prettifyError(parsed.error)}`);
};
