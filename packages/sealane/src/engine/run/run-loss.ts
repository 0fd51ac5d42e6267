import { SealaneError } from '#domain';

import { unwatched } from './unwatched.ts';

/**
 * Records that this instance has lost a run. Another instance may start the run again as soon as the agent is dead here,
 * and the store that the agent waits for may be unreachable: so every waiting call is rejected at once, and not when the
 * store answers.
 */
export class RunLoss {
  /** What every call of the run gets from now on. */
  error: SealaneError | undefined;
  /** The calls that wait. One shared promise would keep all their answers alive until the run is over. */
  #waiting: Set<(why: SealaneError) => void> | undefined;

  tell(): SealaneError {
    this.error ??= new SealaneError('unavailable', 'This run was given to another instance.');
    for (const refuse of this.#waiting ?? []) refuse(this.error);
    this.#waiting = undefined;
    return this.error;
  }

  /** Answers what the store answers, or rejects as soon as the run is lost. A caller may ignore the rejection. */
  orTold<T>(answer: Promise<T>): Promise<T> {
    return unwatched(
      new Promise((resolve, reject) => {
        if (this.error) reject(this.error);
        const waiting = (this.#waiting ??= new Set());
        waiting.add(reject);
        answer.then(resolve, reject).finally(() => waiting.delete(reject));
      }),
    );
  }
}
