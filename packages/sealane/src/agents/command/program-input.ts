import type { Socket } from 'node:net';

import type { Message } from '#domain';
import { onOneLine, textOf } from '#domain';

import type { Turn } from '../agent-connector.ts';

/** What goes to a program's standard input: the message, and then answers and steering as JSON lines. */
export interface ProgramInput {
  /** An answer will come and is handed on. False: the input has ended, or will with the message. */
  expectAnswer(): boolean;
  /** Nothing more is coming. */
  end(): void;
}

export interface ProgramInputOptions {
  /** The first thing to write, if any. */
  readonly first: string | undefined;
  /** The input stays open after it. */
  readonly staysOpen: boolean;
  /** Messages are expected from the start, not only as answers. */
  readonly isSteered: boolean;
  readonly inbox: AsyncIterable<Message>;
  readonly onError: (error: unknown) => void;
}

export const openProgramInput = (stdin: Socket, options: ProgramInputOptions): ProgramInput => {
  const { first, staysOpen, isSteered, inbox, onError } = options;
  let questions = 0;
  let messages: AsyncIterator<Message> | undefined;
  let isOpen = staysOpen;

  const handOn = async (): Promise<void> => {
    if (messages) return;
    messages = inbox[Symbol.asyncIterator]();
    for (;;) {
      const next = await messages.next();
      if (!isOpen || next.done === true) return;
      const word = questions > 0 ? 'answer' : 'steer';
      questions = Math.max(0, questions - 1);
      stdin.write(oneLine({ [word]: textOf(next.value.parts), message: next.value }));
    }
  };

  // A program may write to its standard input's socket, but nobody listens.
  stdin.resume();
  if (first !== undefined) stdin.write(first);
  if (!staysOpen) stdin.end();
  if (isSteered) handOn().catch(onError);
  return {
    expectAnswer: () => {
      if (!isOpen) return false;
      questions += 1;
      handOn().catch(onError);
      return true;
    },
    end: () => {
      isOpen = false;
      stdin.end();
      // A read that still waits for a message is told that nobody wants it.
      messages?.return?.().catch(() => undefined);
    },
  };
};

const oneLine = (value: object): string => `${onOneLine(JSON.stringify(value))}\n`;

/** The message with everything around it, for programs that read JSON. */
export const jsonInputOf = async (turn: Turn): Promise<string> =>
  oneLine({
    taskId: turn.taskId,
    contextId: turn.contextId,
    message: turn.message,
    history: await turn.history(),
    metadata: turn.metadata,
    extensions: turn.extensions,
    outputModes: turn.outputModes,
  });
