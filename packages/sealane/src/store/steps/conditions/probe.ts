import type { ProbeCondition } from '../../condition.ts';
import { PROBE_AMOUNT, TAKE_FROM_PROBE } from '../probes.sql.ts';
import { first } from '../step.ts';
import type { ConditionSteps } from './condition-steps.ts';

/** For the tests of every store: takes from an amount, or only checks that it is above 0. */
export const probe: ConditionSteps<ProbeCondition> = function* ({ key, take }) {
  const holds =
    take === undefined
      ? ((yield* first(PROBE_AMOUNT, key))?.amount ?? 0) > 0
      : (yield* first(TAKE_FROM_PROBE, take, key, take)) !== undefined;
  return holds ? undefined : { key };
};
