import type { Permission, Turn } from '#agents';
import { runIdOf } from '#domain';
import type { Run } from '#store';

import type { Past } from './past.ts';

/** A run as its connector sees it. */
export const turnOf = (run: Run, traceparent: string | undefined, past: Past): Turn => {
  const trace = traceparent ?? run.call.traceparent;
  return {
    taskId: run.token.taskId,
    contextId: run.contextId,
    owner: run.owner,
    tenant: run.tenant,
    agent: run.agent,
    session: run.session,
    number: run.turn,
    message: run.message,
    ...past,
    metadata: { ...run.metadata, ...run.call.metadata, ...run.message.metadata },
    runId: runIdOf(run.token.taskId, run.turn, run.attempt),
    ancestors: run.call.ancestors ?? [],
    extensions: run.call.extensions ?? [],
    outputModes: run.call.outputModes ?? [],
    permission: (run.call.permission as Permission | undefined) ?? 'guarded',
    ...(trace !== undefined && { traceparent: trace }),
  };
};
