/** The states of a task, stored in lower case and encoded per dialect at the edge. */
export type State =
  | 'submitted'
  | 'working'
  | 'input-required'
  | 'auth-required'
  | 'completed'
  | 'failed'
  | 'canceled'
  | 'rejected';

/**
 * Who may follow whom. Nothing else sets a state, and a terminal state has no successor: the first terminal event
 * wins, and whatever a lost run reports later changes nothing.
 */
export const TRANSITIONS: Readonly<Record<State, readonly State[]>> = {
  submitted: ['working', 'rejected', 'failed', 'canceled'],
  working: ['completed', 'failed', 'canceled', 'rejected', 'input-required', 'auth-required'],
  // `submitted`: the answer to a question waits behind a busy lane.
  'input-required': ['working', 'submitted', 'failed', 'canceled'],
  'auth-required': ['working', 'submitted', 'failed', 'canceled'],
  completed: [],
  failed: [],
  canceled: [],
  rejected: [],
};

export const STATES = Object.keys(TRANSITIONS) as readonly State[];
export const TERMINAL_STATES = STATES.filter((state) => TRANSITIONS[state].length === 0);
export const OPEN_STATES = STATES.filter((state) => TRANSITIONS[state].length > 0);

export const isTerminal = (state: State): boolean => TRANSITIONS[state].length === 0;

/** The agent waits for the caller; no turn of the task is in a lane unless a live run asked. */
export const isInterrupted = (state: State): boolean => state === 'input-required' || state === 'auth-required';

/** No turn of the task works: it has ended, or waits for its caller. */
export const isSettled = (state: State): boolean => isTerminal(state) || isInterrupted(state);

/** Staying where one is is a report, not a move, and always allowed while the task is open. */
export const canMove = (from: State, to: State): boolean =>
  from === to ? !isTerminal(from) : TRANSITIONS[from].includes(to);
