import type { Condition, RefusedCondition } from '../../condition.ts';
import type { Steps } from '../step.ts';

/**
 * Checks a condition and takes what it takes; answers facts about why it does not hold. Where a change that was
 * acknowledged could race with the check, the check locks what it reads (`{share-lock}`).
 */
export type ConditionSteps<C extends Condition> = (condition: C) => Steps<RefusedCondition['facts'] | undefined>;
