import type { Message } from '#domain';

import type { RunEvent, TurnEnd } from '../agent-connector.ts';

/** Makes sense of what a program prints. */
export interface CommandOutput {
  /** Reads to the end of the output; rejects when it cannot be understood. */
  read(texts: AsyncIterable<string>): Promise<void>;
  /** How the turn ends when the program has ended well. */
  conclude(): Promise<TurnEnd>;
  /** How the program said the turn ends; then its exit code no longer matters. */
  said(): TurnEnd | undefined;
}

export interface OutputPorts {
  readonly artifactId: string;
  readonly say: (text: string) => Message;
  readonly emit: (event: RunEvent) => Promise<void>;
  /** Answers may come from now on. `false`: they cannot reach the program. */
  readonly expectAnswer: () => boolean;
  /** The program has said how the turn ends; it should leave soon. */
  readonly onEnd: () => void;
}
