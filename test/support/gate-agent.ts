import { type AgentConnector, type RunIo, sessionKeyOf, textOf, type Turn, type TurnEnd } from 'sealane';

/** A run that goes on until the test ends it. */
export interface GatedRun {
  readonly turn: Turn;
  readonly io: RunIo;
  /** Ends the run; it completes unless told otherwise. */
  end(end?: TurnEnd): void;
}

/** An agent whose runs begin when the engine wants and end when the test wants, so that no test has to sleep. */
export interface GateAgent {
  readonly connector: AgentConnector;
  /** The run of the message with this text, once it has begun. */
  started(text: string): Promise<GatedRun>;
  /** The run that began as the n-th, counted from 0. */
  startedAt(index: number): Promise<GatedRun>;
  /** The texts of all messages, in the order in which their runs began. */
  readonly begun: readonly string[];
  /** How many runs went on at the same time, at most. */
  readonly mostAtOnce: () => number;
}

export const createGateAgent = (
  options: { readonly ignoresAbort?: boolean; readonly steerable?: boolean } = {},
): GateAgent => {
  const runs = new Map<string | number, PromiseWithResolvers<GatedRun>>();
  const begun: string[] = [];
  let now = 0;
  let most = 0;
  const runOf = (text: string | number): PromiseWithResolvers<GatedRun> => {
    let run = runs.get(text);
    if (!run) runs.set(text, (run = Promise.withResolvers()));
    return run;
  };
  return {
    begun,
    mostAtOnce: () => most,
    started: (text) => runOf(text).promise,
    startedAt: (index) => runOf(index).promise,
    connector: {
      kind: 'gate',
      session: sessionKeyOf,
      steerable: options.steerable === true,
      run: async (turn, io) => {
        const text = textOf(turn.message.parts);
        const ended = Promise.withResolvers<TurnEnd>();
        begun.push(text);
        now += 1;
        most = Math.max(most, now);
        if (!options.ignoresAbort)
          io.signal.addEventListener('abort', () => ended.resolve({ state: 'canceled' }), { once: true });
        const run: GatedRun = { turn, io, end: (end = { state: 'completed' }) => ended.resolve(end) };
        runOf(text).resolve(run);
        runOf(begun.length - 1).resolve(run);
        try {
          return await ended.promise;
        } finally {
          now -= 1;
        }
      },
      stop: async () => 'dead',
      close: async () => undefined,
    },
  };
};
