/**
 * Conditions: what must hold before a message is taken in, and what the message consumes. They are checked inside the
 * step that writes the message, before its first other write. A condition refuses with facts; the engine finds the words
 * for the caller. Start with `condition-steps.ts`.
 */
import type { Condition, ConditionName, RefusedCondition } from '../../condition.ts';
import { type Steps, undoPoint } from '../step.ts';
import type { ConditionSteps } from './condition-steps.ts';
import { probe } from './probe.ts';

/**
 * In the order in which conditions lock: user, objective, account. A new condition is a file here, a line in this
 * table, its type in `condition.ts`, and its words in the engine's `refusals.ts`.
 */
const CONDITIONS: { readonly [N in ConditionName]: ConditionSteps<Extract<Condition, { name: N }>> } = { probe };

const NAMES = Object.keys(CONDITIONS) as readonly ConditionName[];

const inLockOrder = (conditions: readonly Condition[]): readonly Condition[] =>
  conditions.toSorted((a, b) => NAMES.indexOf(a.name) - NAMES.indexOf(b.name) || (a.key < b.key ? -1 : 1));

/**
 * Checks and takes conditions before the step writes anything else. From here on, the step either succeeds or calls
 * `refuse`, which gives back what was taken. Answers the first condition that does not hold: the caller refuses with
 * it.
 */
export function* takeConditions(conditions: readonly Condition[]): Steps<RefusedCondition | undefined> {
  yield* undoPoint();
  for (const condition of inLockOrder(conditions)) {
    const facts = yield* CONDITIONS[condition.name](condition);
    if (facts) return { ok: false, why: 'condition', name: condition.name, facts };
  }
  return undefined;
}
