import { describe, expect, it } from 'vitest';

import { agentEventOf } from './agent-event.ts';
import { lifecycle } from './scripted-agent.fixture.ts';

describe('the end of a run that was stopped', () => {
  const ended = { phase: 'end', status: 'cancelled', aborted: true, stopReason: 'rpc', endedAt: 2 };

  it('is only announced where its work has begun: another word follows', () => {
    expect(agentEventOf(lifecycle({ ...ended, startedAt: 1 }))).toBeUndefined();
  });

  it('is the last word where nothing had begun', () => {
    expect(agentEventOf(lifecycle(ended))).toMatchObject({ kind: 'settled', aborted: true, error: undefined });
  });
});
