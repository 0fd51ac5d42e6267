import type { RunIo } from '#agents';

/** What the connector gets of a run. It may take its parts apart, so the functions are bound (see `OneRun` on closures). */
export class OneRunIo implements RunIo {
  readonly attempt: number;
  readonly say: RunIo['say'];
  readonly emit: RunIo['emit'];
  readonly remember: RunIo['remember'];
  readonly #run: Omit<RunIo, 'attempt'>;

  constructor(run: Omit<RunIo, 'attempt'>, attempt: number) {
    this.#run = run;
    this.attempt = attempt;
    this.say = run.say.bind(run);
    this.emit = run.emit.bind(run);
    this.remember = run.remember.bind(run);
  }

  // Most agents ask for neither, and both are made when they are asked for.
  get signal(): AbortSignal {
    return this.#run.signal;
  }

  get inbox(): RunIo['inbox'] {
    return this.#run.inbox;
  }
}
