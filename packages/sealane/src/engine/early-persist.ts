import type { JsonObject, NewEvent } from '#domain';
import type { Admission, Admitted, Finished, Result, RunToken, TaskStore } from '#store';

import { isPassing } from './insist.ts';
import type { EngineObserver } from './observer.ts';
import type { Persist } from './persist.ts';

export interface EarlyPersistDeps {
  readonly store: TaskStore;
  readonly persist: Persist;
  readonly observer: EngineObserver;
}

const LOST = { ok: false, why: 'lost' } as const;

/**
 * How a run writes that begins before its task is stored. If it is over in the same turn of the event loop, its task is
 * stored together with its end, in one step. Otherwise the task is stored then, and whatever the run writes waits for that.
 * Where the turn has to wait, or is refused, the run was in vain: it writes nothing.
 */
export class EarlyPersist implements Persist {
  /** What has become of the admission. */
  readonly admitted: Promise<Result<Admitted>>;
  readonly #deps: EarlyPersistDeps;
  readonly #admission: Admission;
  readonly #outcome: PromiseWithResolvers<Result<Admitted>>;
  #planned: NodeJS.Immediate | undefined;

  constructor(deps: EarlyPersistDeps, admission: Admission) {
    this.#deps = deps;
    this.#admission = admission;
    this.#outcome = Promise.withResolvers();
    this.admitted = this.#outcome.promise;
    this.#planned = setImmediate(() => this.#admit());
  }

  async append(_provisional: RunToken, events: readonly NewEvent[]): Promise<'lost' | 'terminal' | undefined> {
    const held = (await this.#stored())?.run;
    return held ? await this.#deps.persist.append(held.token, events) : 'lost';
  }

  async finish(_provisional: RunToken, events: readonly NewEvent[], release: boolean): Promise<Result<Finished>> {
    const startedAt = performance.now();
    if (this.#planned && release) {
      clearImmediate(this.#planned);
      this.#admit(events);
    }
    const stored = await this.#stored();
    if (stored?.finished) {
      this.#deps.observer.appended?.({ events: events.length, lagMs: performance.now() - startedAt });
      return { ok: true, value: stored.finished };
    }
    return stored?.run ? await this.#deps.persist.finish(stored.run.token, events, release) : LOST;
  }

  async release(_provisional: RunToken, retryAt?: number): Promise<Result<null>> {
    const held = (await this.#stored())?.run;
    return held ? await this.#deps.persist.release(held.token, retryAt) : LOST;
  }

  async remember(_provisional: RunToken, ref: JsonObject): Promise<Result<null>> {
    const held = (await this.#stored())?.run;
    return held ? await this.#deps.persist.remember(held.token, ref) : LOST;
  }

  /** Whoever comes to this lane later must not be there first: the task is stored now, if that is still planned. */
  admitNow(): void {
    if (!this.#planned) return;
    clearImmediate(this.#planned);
    this.#admit();
  }

  #admit(answer?: readonly NewEvent[]): void {
    this.#planned = undefined;
    const { resolve, reject } = this.#outcome;
    if (!answer) return void this.#store(this.#admission).then(resolve, reject);
    this.#store({ ...this.#admission, answer }).then(resolve, (error: unknown) => {
      // Words of an agent that no store can take do not keep its task from being stored: it ends like any other then. A
      // store that is away may have stored it all the same.
      if (isPassing(error)) reject(error);
      else this.#admit();
    });
  }

  #store(admission: Admission): Promise<Result<Admitted>> {
    try {
      return this.#deps.store.admit(admission);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Nothing where there is no such task. Why, is what whoever sent it is told. */
  #stored(): Promise<Admitted | undefined> {
    return this.admitted.then(valueOf, () => undefined);
  }
}

const valueOf = (result: Result<Admitted>): Admitted | undefined => (result.ok ? result.value : undefined);
