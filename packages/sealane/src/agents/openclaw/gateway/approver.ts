import { setTimeout as delay } from 'node:timers/promises';

import { z } from 'zod';

import { SealaneError } from '#domain';

import type { Approval, Approvals } from '../../agent-connector.ts';
import { GatewayError } from './gateway-error.ts';
import type { GatewayLink } from './gateway-link.ts';

/** Who decides on commands that wait, over a connection of its own that does nothing else. */
export interface Approver {
  /**
   * Sees to it that the connection is there, and comes back when it breaks: OpenClaw lets a command wait only while
   * somebody is there who may decide. Resolves when it is there, or cannot be for now: then commands are denied.
   */
  attend(signal: AbortSignal): Promise<void>;
  readonly approvals: Approvals;
  /** What keeps it from deciding; nothing if all is well. */
  problem(signal: AbortSignal): Promise<string | undefined>;
  close(): void;
}

/** With less, OpenClaw does not count a connection as somebody who may decide. */
export const APPROVER_SCOPES: readonly string[] = ['operator.approvals', 'operator.admin'];
export const APPROVER_CAPS: readonly string[] = ['approvals'];

/** A Gateway that does not let us in has to be configured anew first. */
const REFUSED_MS = 30_000;
const ASK_MS = 5000;

/** What a date can be. */
const instant = z.number().min(0).max(8.64e15);

const waitingCommand = z.object({
  id: z.string(),
  request: z.object({ command: z.string(), runId: z.string(), sessionKey: z.string() }),
  createdAtMs: instant,
  expiresAtMs: instant,
});
/** Commands of others may look different; they do not concern us. */
const waitingList = z.array(waitingCommand.nullable().catch(null));

export const createApprover = (
  link: GatewayLink,
  /** The task that a run works for; nothing if it is none of ours. */
  taskOf: (run: { readonly runId: string; readonly sessionKey: string }) => string | undefined,
): Approver => {
  const closing = new AbortController();
  let staying: Promise<void> | undefined;

  const stay = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      try {
        const socket = await link.connected(closing.signal);
        await socket.whenClosed().promise;
      } catch {
        await delay(REFUSED_MS, undefined, { ref: false, signal: closing.signal }).catch(() => undefined);
      }
    }
  };

  const problem: Approver['problem'] = async (signal) => {
    try {
      const { scopes } = await link.connected(signal, { tries: 1 });
      const missing = APPROVER_SCOPES.filter((scope) => scopes !== undefined && !scopes.includes(scope));
      return missing.length === 0
        ? undefined
        : `The Gateway does not grant ${missing.join(' and ')}, which \`approvals: sealane\` needs: commands that need an approval are denied. Grant it, or use \`approvals: wait\`.`;
    } catch (error) {
      return `Nobody can decide on commands that need an approval, as \`approvals: sealane\` wants: ${error instanceof Error ? error.message : String(error)}`;
    }
  };

  const ask = async (method: string, params: object): Promise<unknown> => {
    const socket = await link.connected(AbortSignal.timeout(ASK_MS), { tries: 1 });
    return await socket.request(method, params);
  };

  const list = async (): Promise<readonly Approval[]> => {
    const { data: waiting } = waitingList.safeParse(await ask('exec.approval.list', {}).catch(unavailable));
    if (!waiting)
      throw new SealaneError('unavailable', 'OpenClaw lists what waits in a way that Sealane does not know.');
    return waiting.flatMap((one) => {
      const taskId = one === null ? undefined : taskOf(one.request);
      if (one === null || taskId === undefined) return [];
      const { id, request, createdAtMs, expiresAtMs } = one;
      return [{ id, taskId, command: request.command, createdAt: createdAtMs, expiresAt: expiresAtMs }];
    });
  };

  return {
    attend: async (signal) => {
      staying ??= stay();
      await link.connected(signal, { tries: 1 }).catch(() => undefined);
    },
    problem,
    approvals: {
      list,
      resolve: async (id, decision) => {
        // Never on the word of an id alone: what waits elsewhere in OpenClaw is not ours to decide.
        if (!(await list()).some((one) => one.id === id)) return false;
        try {
          await ask('exec.approval.resolve', { id, decision });
          return true;
        } catch (error) {
          // Its time was up, or somebody in OpenClaw was quicker.
          if (error instanceof GatewayError && /unknown or expired|already resolved/i.test(error.message)) return false;
          return unavailable(error);
        }
      },
    },
    close: () => {
      closing.abort();
      link.close();
    },
  };
};

const unavailable = (error: unknown): never => {
  const isLate = error instanceof DOMException && error.name === 'TimeoutError';
  if (!isLate && !(error instanceof GatewayError)) throw error;
  const why = isLate ? `The OpenClaw Gateway did not let us in within ${ASK_MS} ms.` : error.message;
  throw new SealaneError('unavailable', why, { cause: error });
};
