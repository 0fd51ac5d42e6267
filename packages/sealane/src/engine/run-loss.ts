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
  /** Those who wait. A promise for all of them would keep what each was answered until the run is over. */
  #waiting: Set<(why: SealaneError) => void> | undefined;

  /** Answers what everybody is told from now on. */
  tell(loss: Loss): SealaneError {
    this.why ??= loss;
    this.#error ??= new SealaneError('unavailable', WORDS[loss]);
    for (const refuse of this.#waiting ?? []) refuse(this.#error);
    this.#waiting = undefined;
    return this.#error;
  }

  /** What the store answers, if that comes while the run is ours. Nobody has to watch it. */
  orTold<T>(answer: Promise<T>): Promise<T> {
    return unwatched(
      new Promise((resolve, reject) => {
        if (this.#error) reject(this.#error);
        const waiting = (this.#waiting ??= new Set());
        waiting.add(reject);
        answer.then(resolve, reject).finally(() => waiting.delete(reject));
      }),
    );
  }
}
