import type { GatewayRef } from './gateway-ref.ts';
import type { GatewaySocket } from './gateway-socket.ts';
import { answerOfWait, type RunAnswer } from './run-answer.ts';
import { historyShape, turnInHistory, type TurnRecord } from './run-history.ts';

/** What the Gateway knows of a run. */
export interface FoundRun {
  readonly record: TurnRecord;
  readonly answer: RunAnswer | undefined;
  /** The Gateway was started anew since the run began, a moment ago: it may still take the run up again. */
  readonly mayBeResumed: boolean;
}

/** Rows of a transcript that are read to find a turn; a turn of more steps than this is found by its run alone. */
const ROWS = 300;

/** The longest that a Gateway is believed when it says that it is about to resume a session. */
const PENDING_MS = 5 * 60_000;

export const findRun = async (socket: GatewaySocket, ref: GatewayRef, resumeWaitMs: number): Promise<FoundRun> => {
  const history = historyShape.parse(await socket.request('chat.history', { sessionKey: ref.sessionKey, limit: ROWS }));
  const record = turnInHistory(history, ref.runId);
  const isNewGateway = socket.bootId !== ref.bootId;
  // Sessions that a crash interrupted keep this status until their turn has come.
  const isPending = history.sessionInfo?.status === 'running';
  const known = record.active === undefined ? await endOf(socket, record) : undefined;
  return {
    record,
    answer: known ?? record.answer,
    mayBeResumed: isNewGateway && performance.now() - socket.openedAt < (isPending ? PENDING_MS : resumeWaitMs),
  };
};

/** The Gateway forgets ends when it is started anew; the transcript then has to do. */
const endOf = async (socket: GatewaySocket, { runIds }: TurnRecord): Promise<RunAnswer | undefined> => {
  const runId = runIds.at(-1) ?? runIds[0];
  return answerOfWait(await socket.request('agent.wait', { runId, timeoutMs: 1 }));
};
