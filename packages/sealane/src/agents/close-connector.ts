import { setTimeout as delay } from 'node:timers/promises';

import type { AgentConnector } from './agent-connector.ts';

/** How long an agent may take to close. */
const CLOSE_MS = 30_000;

/** Connectors are other people's code: throws when one cannot be closed, also when it is not closed in time. */
export const closeConnector = async (connector: AgentConnector, closeMs = CLOSE_MS): Promise<void> => {
  const waiting = new AbortController();
  const tooLate = async (): Promise<never> => {
    await delay(closeMs, undefined, { signal: waiting.signal });
    throw new Error(`The connector did not close within ${closeMs / 1000} s.`);
  };
  try {
    await Promise.race([connector.close(), tooLate()]);
  } finally {
    waiting.abort();
  }
};
