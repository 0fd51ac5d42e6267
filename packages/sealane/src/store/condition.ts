import type { JsonObject } from '#domain';

/**
 * A condition that must hold before a message is taken in, and what the message consumes. The list of conditions is
 * closed, and each has a file in `steps/conditions/`. The store checks and takes conditions in the transaction that
 * writes the message, before it writes anything else. A refused message consumes nothing.
 */
export type Condition = ProbeCondition;

/** What every condition has. Of several with one name, those with the lesser key are locked first. */
export interface AnyCondition {
  readonly name: string;
  readonly key: string;
}

/** For the tests of every store: takes this much of an amount. Without `take`, the amount must only be above 0. */
export interface ProbeCondition extends AnyCondition {
  readonly name: 'probe';
  readonly take?: number;
}

export type ConditionName = Condition['name'];

/** The first condition that does not hold. The engine turns `facts` into a message for the caller. */
export interface RefusedCondition {
  readonly ok: false;
  readonly why: 'condition';
  readonly name: ConditionName;
  readonly facts: JsonObject;
}
