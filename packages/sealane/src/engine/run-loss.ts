import { SealaneError } from '#domain';

import { unwatched } from './run-output.ts';

const WORDS = {
  lost: 'This run was given to another instance.',
  'in-vain': 'This run began early, and its turn has to wait.',
};

export type Loss = keyof typeof WORDS;

/**
 * That a run is not ours any more. Nobody else may run while its agent is alive, and the store that its agent waits for
 * may be what is out of reach: so whoever waits is told at once, and not when the store answers.
 */
export class RunLoss {
  why: Loss | undefined;
  #error: SealaneError | undefined;
  #told: PromiseWithResolvers<never> | undefined;

  /** Answers what everybody is told from now on. */
  tell(loss: Loss): SealaneError {
    this.why ??= loss;
    this.#error ??= new SealaneError('unavailable', WORDS[loss]);
    this.#told?.reject(this.#error);
    return this.#error;
  }

  /** What the store answers, if that comes while the run is ours. Nobody has to watch it. */
  orTold<T>(answer: Promise<T>): Promise<T> {
    this.#told ??= Promise.withResolvers();
    if (this.#error) this.#told.reject(this.#error);
    return unwatched(Promise.race([this.#told.promise, answer]));
  }
}
