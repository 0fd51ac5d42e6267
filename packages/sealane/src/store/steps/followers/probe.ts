import { assembleAdmitted } from '../admission.ts';
import { admit } from '../admit.ts';
import { ADD_TO_PROBE } from '../probes.sql.ts';
import { first, refuse } from '../step.ts';
import type { FollowerSteps } from './follower-kind.ts';

/** For the tests of every store. It does all that a kind can do: it changes an amount of its own, and admits a task. */
export const probe: FollowerSteps<'probe'> = {
  *apply(target, { add, admit: admission }) {
    const amount = (yield* first(ADD_TO_PROBE, target, add))?.amount ?? 0;
    if (!admission) return { amount };
    const admitted = yield* admit(admission);
    if (!admitted.ok) return refuse(admitted);
    return { amount, admitted: assembleAdmitted(admission, admitted.value) };
  },
};
