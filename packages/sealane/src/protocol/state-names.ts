import { type State, STATES } from '#domain';

/** The states as A2A 1.0 names them. */
export const STATE_NAMES: Readonly<Record<State, string>> = {
  submitted: 'TASK_STATE_SUBMITTED',
  working: 'TASK_STATE_WORKING',
  'input-required': 'TASK_STATE_INPUT_REQUIRED',
  'auth-required': 'TASK_STATE_AUTH_REQUIRED',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  canceled: 'TASK_STATE_CANCELED',
  rejected: 'TASK_STATE_REJECTED',
};

const byName = new Map(STATES.map((state) => [STATE_NAMES[state], state]));

export const stateOf = (name: string): State | undefined => byName.get(name);
