import type { Condition, RefusedCondition } from '../../condition.ts';
import type { Steps } from '../step.ts';

/**
 * Checks a condition and takes what the message consumes. Answers facts if the condition does not hold. A check that
 * could race with an acknowledged change locks what it reads (`{share-lock}`).
 */
export type ConditionSteps<C extends Condition> = (condition: C) => Steps<RefusedCondition['facts'] | undefined>;
