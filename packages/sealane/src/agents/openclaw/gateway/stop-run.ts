import { setTimeout as delay } from 'node:timers/promises';

import { z } from 'zod';

import { findRun } from './find-run.ts';
import { GatewayError, isUnreachable } from './gateway-error.ts';
import type { GatewayLink } from './gateway-link.ts';
import type { GatewayRef } from './gateway-ref.ts';
import type { GatewaySocket } from './gateway-socket.ts';

const aborted = z.object({ aborted: z.boolean().default(false) });
const cancelled = z.object({ cancelled: z.boolean().default(false) });
const taskList = z.object({ tasks: z.array(z.object({ taskId: z.string(), runId: z.string().optional() })) });

/** How long the word that a run is really over may take after an abort; then the Gateway is asked. */
const SETTLE_MS = 5000;
const ASK_AGAIN_MS = 250;

/**
 * Stops a run and resolves when it is over. The Gateway calls a run ended before its tools are; only the settled
 * event, or a session without our run in it, counts. A Gateway that was started anew may take the run up again, so
 * there the answer waits until it would have.
 */
export const stopRun = async (
  link: GatewayLink,
  ref: GatewayRef,
  { signal, resumeWaitMs }: { readonly signal: AbortSignal; readonly resumeWaitMs: number },
): Promise<'dead' | 'unknown'> => {
  const settled = new Set<string>();
  let onSettled = (): void => undefined;
  using _ = link.watch(ref.sessionKey, ({ kind, runId }) => {
    if (kind !== 'settled') return;
    settled.add(runId);
    onSettled();
  });

  const settling = async (socket: GatewaySocket, runId: string): Promise<void> => {
    const late = AbortSignal.any([signal, AbortSignal.timeout(SETTLE_MS)]);
    while (!settled.has(runId) && !late.aborted) {
      const told = new Promise<void>((resolve) => (onSettled = resolve));
      using gone = socket.whenClosed();
      if (await Promise.race([told, delay(ASK_AGAIN_MS), gone.promise])) return;
    }
  };

  let runIds: readonly string[] = [ref.runId];
  while (!signal.aborted) {
    try {
      const socket = await link.connected(signal);
      for (const runId of runIds) {
        if (!settled.has(runId) && (await abortRun(socket, ref.sessionKey, runId))) await settling(socket, runId);
      }
      const { record, answer, mayBeResumed } = await findRun(socket, ref, resumeWaitMs);
      if (record.active === undefined && (answer !== undefined || !mayBeResumed)) return 'dead';
      runIds = record.runIds;
    } catch (error) {
      if (signal.aborted) return 'unknown';
      if (!isUnreachable(error)) throw error;
    }
    await delay(ASK_AGAIN_MS, undefined, { signal }).catch(() => undefined);
  }
  return 'unknown';
};

/** True: the run was there, and is being stopped. */
const abortRun = async (socket: GatewaySocket, sessionKey: string, runId: string): Promise<boolean> => {
  try {
    return aborted.parse(await socket.request('chat.abort', { sessionKey, runId })).aborted;
  } catch (error) {
    // Only the connection that began a run may abort it. As a task, anybody who may write can cancel it.
    if (!(error instanceof GatewayError) || error.message !== 'unauthorized') throw error;
  }
  const { tasks } = taskList.parse(await socket.request('tasks.list', { sessionKey }));
  const task = tasks.find((one) => one.runId === runId);
  return task !== undefined && cancelled.parse(await socket.request('tasks.cancel', { taskId: task.taskId })).cancelled;
};
