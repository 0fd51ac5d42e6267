import { randomUUID } from 'node:crypto';

import type { Turn } from '../../agent-connector.ts';
import type { EmbeddedOptions } from './embedded-options.ts';
import type { SessionEntry } from './openclaw-runtime.ts';
import { runRights } from './run-rights.ts';

/**
 * Makes sure of what the session says before it gets a text.
 *
 * - A run has the rights that it is given, whatever its session says. Should a person go on with the session in
 *   OpenClaw, it must not be with more, so the session has the mode, too.
 * - A Gateway that died takes up the turns of its sessions when it is started again: with every tool that the session's
 *   mode allows, and with nobody who hears the answer. It leaves sessions alone that something else has begun and
 *   answers for, and these are such: their tasks end as interrupted, and nothing goes on behind them.
 */
export const prepareSession = async (
  { runtime, agentId }: Pick<EmbeddedOptions, 'runtime' | 'agentId'>,
  { session, permission }: Pick<Turn, 'session' | 'permission'>,
): Promise<SessionEntry> => {
  const sessions = runtime.agent.session;
  const place = { agentId, sessionKey: session, readConsistency: 'latest' } as const;
  const wanted = { permissionMode: runRights(permission).permissionMode, spawnDepth: 1 };
  const isRight = (entry: SessionEntry | undefined): entry is SessionEntry =>
    entry?.permissionMode === wanted.permissionMode && entry?.spawnDepth === wanted.spawnDepth;
  const known = sessions.getSessionEntry(place);
  if (isRight(known)) return known;
  const fallbackEntry = { sessionId: randomUUID(), updatedAt: Date.now() };
  await sessions.patchSessionEntry({ ...place, fallbackEntry, update: () => wanted });
  const prepared = sessions.getSessionEntry(place);
  if (isRight(prepared)) return prepared;
  throw new Error(
    `OpenClaw did not take the permission "${permission}" for this conversation, so the task is not run. Use OpenClaw 2026.9 or newer.`,
  );
};
