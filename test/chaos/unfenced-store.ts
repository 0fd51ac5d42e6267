import type { Result, RunToken, Storage } from '#store';

import { withBarriers } from './barrier-store.ts';

/**
 * A store without its fence: what a lost run still sends is written under whatever epoch is the current one. And nobody is
 * told that a lease is lost, because whoever knows it sends nothing any more: the lease in the database lasts `leaseMs`,
 * however long the service takes it to last.
 */
export const withoutFence = (storage: Storage, leaseMs: number): Storage =>
  withBarriers(storage, (tasks) => ({
    renew: async (instance) => {
      await tasks.renew(instance, leaseMs);
      return { ok: true, value: null };
    },
    append: (run, ...rest) => underAnyEpoch(run, (token) => tasks.append(token, ...rest)),
    finish: (run, ...rest) => underAnyEpoch(run, (token) => tasks.finish(token, ...rest)),
  }));

const EPOCHS = 6;

const underAnyEpoch = async <T>(run: RunToken, write: (token: RunToken) => Promise<Result<T>>): Promise<Result<T>> => {
  let result = await write(run);
  for (let more = 1; more < EPOCHS && !result.ok && result.why === 'lost'; more += 1) {
    result = await write({ ...run, epoch: run.epoch + more });
  }
  return result;
};
