/** How long the dispatcher waits after a claim that failed. The wait doubles with each further failure. */
const FIRST_PAUSE_MS = 100;

export interface ClaimLoop {
  readonly isRunning: boolean;
  /** Starts the loop with a first claim. */
  start(): void;
  /** Asks for a claim that begins after this call. A loop that does not run ignores it. */
  kick(): void;
  /** Begins no further claim. Resolves when the claim in flight is over. */
  stop(): Promise<void>;
}

/**
 * Decides when to claim: one claim at a time, and one more if a kick came in the meantime.
 *
 *     idle ──kick──► claiming ──done──► idle
 *                      │  └─kick─► kicked ──done──► claiming
 *                      └─throws (kicked or not)─► pausing ──timer──► claiming
 *
 * Each arrow is one synchronous step, so no kick is lost between a check and a change of state. A failed claim has
 * served no kick, so it is retried after a pause. The retry serves every kick that came before it, so that kicks do not
 * hammer a broken store.
 */
export const createClaimLoop = (options: {
  readonly claim: () => Promise<void>;
  readonly longestPauseMs: number;
  readonly onProblem: (error: unknown) => void;
}): ClaimLoop => {
  let state: 'stopped' | 'idle' | 'claiming' | 'kicked' | 'pausing' = 'stopped';
  let inFlight: Promise<void> = Promise.resolve();
  let pauseMs = FIRST_PAUSE_MS;
  let pause: NodeJS.Timeout | undefined;

  const begin = (): void => {
    state = 'claiming';
    inFlight = options.claim().then(onDone, onFailed);
  };

  const onDone = (): void => {
    pauseMs = FIRST_PAUSE_MS;
    if (state === 'kicked') begin();
    else if (state === 'claiming') state = 'idle';
  };

  const onFailed = (error: unknown): void => {
    options.onProblem(error);
    if (state === 'stopped') return;
    state = 'pausing';
    pause = setTimeout(begin, Math.min(pauseMs, options.longestPauseMs));
    pause.unref();
    pauseMs *= 2;
  };

  const kick = (): void => {
    if (state === 'idle') begin();
    else if (state === 'claiming') state = 'kicked';
  };

  return {
    get isRunning() {
      return state !== 'stopped';
    },
    start: () => {
      state = 'idle';
      kick();
    },
    kick,
    stop: () => {
      state = 'stopped';
      clearTimeout(pause);
      return inFlight;
    },
  };
};
