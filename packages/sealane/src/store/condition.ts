import type { JsonObject } from '#domain';

/**
 * What must hold for a message to be taken in, and what it takes: named, from a closed list. `steps/conditions/` has one
 * file for each. The store checks and takes them in the transaction that writes the message, before it writes anything
 * else; a message that is refused takes nothing.
 */
export type Condition = ProbeCondition;

/** What every condition has. Of several with one name, those with the lesser key are locked first. */
export interface AnyCondition {
  readonly name: string;
  readonly key: string;
}

/** For the tests of every store: so much of an amount is taken; without `take` there must only be some. */
export interface ProbeCondition extends AnyCondition {
  readonly name: 'probe';
  readonly take?: number;
}

export type ConditionName = Condition['name'];

/** The first condition that does not hold. `facts` are for the words that the caller gets. */
export interface RefusedCondition {
  readonly ok: false;
  readonly why: 'condition';
  readonly name: ConditionName;
  readonly facts: JsonObject;
}
