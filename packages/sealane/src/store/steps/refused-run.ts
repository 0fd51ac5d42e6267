import type { RunToken } from '../task-store.ts';
import { HEAD } from './heads.sql.ts';
import { first, type Steps } from './step.ts';

/** Why the fence stopped a write: another holder has the turn, the task has ended, or only a canceled end may pass. */
export function* refusedRun(run: RunToken): Steps<{ ok: false; why: 'lost' | 'terminal' | 'canceled' }> {
  const head = yield* first(HEAD, run.task);
  if (head?.epoch !== run.epoch) return { ok: false, why: 'lost' };
  return { ok: false, why: head.ended === 1 ? 'terminal' : 'canceled' };
}
