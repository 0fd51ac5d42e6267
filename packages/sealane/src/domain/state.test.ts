import { describe, expect, it } from 'vitest';

import { canMove, isInterrupted, isTerminal, OPEN_STATES, STATES, TERMINAL_STATES } from './state.ts';

describe('states', () => {
  it('are the eight of A2A, four of them terminal', () => {
    expect(STATES).toHaveLength(8);
    expect(TERMINAL_STATES).toEqual(['completed', 'failed', 'canceled', 'rejected']);
    expect([...OPEN_STATES, ...TERMINAL_STATES].sort()).toEqual([...STATES].sort());
  });

  it('a terminal state has no successor, not even itself', () => {
    for (const from of TERMINAL_STATES)
      for (const to of STATES) expect(canMove(from, to), `${from} → ${to}`).toBe(false);
  });

  it('every open state can be canceled and can fail', () => {
    for (const from of OPEN_STATES) {
      expect(canMove(from, 'canceled')).toBe(true);
      expect(canMove(from, 'failed')).toBe(true);
    }
  });

  it('a task completes only out of work', () => {
    expect(STATES.filter((from) => canMove(from, 'completed'))).toEqual(['working']);
  });

  it('an answered question goes back to work, or into the lane when that is busy', () => {
    for (const asking of STATES.filter(isInterrupted)) {
      expect(canMove(asking, 'working')).toBe(true);
      expect(canMove(asking, 'submitted')).toBe(true);
      expect(isTerminal(asking)).toBe(false);
    }
  });
});
