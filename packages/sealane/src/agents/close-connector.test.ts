import { expect, it } from 'vitest';

import type { AgentConnector } from './agent-connector.ts';
import { closeConnector } from './close-connector.ts';
import { createEchoAgent } from './echo/echo-agent.ts';

const closing = (close: () => unknown): AgentConnector => ({
  ...createEchoAgent(),
  close: close as () => Promise<void>,
});

it('a connector that closes is closed', async () => {
  let closes = 0;
  await closeConnector(closing(async () => (closes += 1)));
  expect(closes).toBe(1);
});

it('a connector that never closes is waited for no longer than it may take', async () => {
  await expect(
    closeConnector(
      closing(() => new Promise(() => undefined)),
      20,
    ),
  ).rejects.toThrow('within 0.02 s');
});

it('a connector that throws instead of closing is told about', async () => {
  const broken = closing(() => {
    throw new Error('stuck');
  });
  await expect(closeConnector(broken)).rejects.toThrow('stuck');
});
