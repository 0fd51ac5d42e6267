import type { RunToken } from '../task-store.ts';
import { HEAD } from './heads.sql.ts';
import { first, type Steps } from './step.ts';

/** Why the fence let nothing through: another run has the turn, or the task has ended without this one. */
export function* refusedRun(run: RunToken): Steps<{ ok: false; why: 'lost' | 'terminal' | 'canceled' }> {
  const head = yield* first(HEAD, run.task);
  if (head?.epoch !== run.epoch) return { ok: false, why: 'lost' };
  return { ok: false, why: head.ended === 1 ? 'terminal' : 'canceled' };
}
