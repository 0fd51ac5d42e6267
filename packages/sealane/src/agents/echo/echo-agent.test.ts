import { expect, test } from 'vitest';

import type { RunEvent, RunIo, Turn } from '../agent-connector.ts';
import { createEchoAgent } from './echo-agent.ts';

test.each(['@constructor hello', '@nobody', '@', '@Ask me'])('%s is no directive and is said back', async (text) => {
  const said: RunEvent[] = [];
  const message = { messageId: '1', role: 'ROLE_USER', parts: [{ text }] } as const;
  const io = { emit: async (event: RunEvent) => void said.push(event) } as Partial<RunIo> as RunIo;
  const end = await createEchoAgent().run({ number: 1, message } as Partial<Turn> as Turn, io);
  expect(end).toEqual({ state: 'completed' });
  expect(said).toMatchObject([{ artifact: { parts: [{ text }] } }]);
});
