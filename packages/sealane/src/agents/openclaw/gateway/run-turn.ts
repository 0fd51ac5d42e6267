import { setTimeout as delay } from 'node:timers/promises';

import type { RunIo, Turn, TurnEnd } from '../../agent-connector.ts';
import { eitherSignal } from '../../either-signal.ts';
import { type IncomingMessage, withoutCommand } from '../incoming-message.ts';
import { findRun } from './find-run.ts';
import { GatewayError, isUnreachable } from './gateway-error.ts';
import type { GatewayLink } from './gateway-link.ts';
import type { GatewayOptions } from './gateway-options.ts';
import { type GatewayRef, NOT_BEGUN } from './gateway-ref.ts';
import type { FinalAnswer, GatewaySocket } from './gateway-socket.ts';
import { readMedia } from './read-media.ts';
import { answerOfFinal, answerOfWait, type RunAnswer } from './run-answer.ts';
import { createRunReporter } from './run-reporter.ts';
import type { SessionLook, SessionRights } from './session-rights.ts';
import { stopRun } from './stop-run.ts';

export interface TurnRun {
  readonly turn: Turn;
  readonly io: RunIo;
  readonly input: Extract<IncomingMessage, { ok: true }>;
  readonly link: GatewayLink;
  readonly rights: SessionRights;
  /** What was asked of the session while the turn was stored. */
  readonly ahead: SessionLook | undefined;
  /** The ids under which the turn is at work; they are filled in here. */
  readonly runIds: Set<string>;
  /** Somebody who may decide on commands that wait is there, if that is wanted. */
  readonly attended: (signal: AbortSignal) => Promise<void>;
  readonly options: GatewayOptions;
  /** Aborts when the connector closes; a run is then stopped as by a cancel. */
  readonly closing: AbortSignal;
  /** Aborts when nobody waits any longer for runs to be stopped. */
  readonly givingUp: AbortSignal;
}

/** A refusal that the caller reads as it is. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}

const ASK_AGAIN_MS = 250;
const WAIT_MS = 20_000;
/** After the settled event the Gateway still has to say what came of it. */
const LAST_WORD_MS = 5000;
const SESSION_TRIES = 5;
const LET_GO: TurnEnd = { state: 'canceled', goesOn: true };
const GO_ON = 'OpenClaw was restarted while you worked on the last message. Go on with it, and answer it.';

/**
 * One turn on the Gateway, from its first try to its end:
 *
 *     begin: rights set and read back, reference remembered, `agent` called ─► its second answer ends it
 *       │ the connection breaks, or Sealane was started anew
 *       └► resume: is it at work? listen and wait. Has it ended? take the answer. Did the Gateway crash? it goes on
 *          under a new run id: follow that, or end it and go on with the rights of the caller. Did it never hear of
 *          the run? begin again.
 *
 * Answers 'gone' when the run was there and nothing of it is left. When Sealane stops, the run is let go.
 */
export const runTurn = async (run: TurnRun, known?: GatewayRef): Promise<TurnEnd | 'gone'> => {
  const { turn, io, link, options, runIds } = run;
  using either = eitherSignal(io.signal, run.closing);
  const { signal } = either;
  const showTools = options.toolUpdates === 'names' && turn.permission === 'agent-default';
  const reporter = createRunReporter(turn, io, {
    showTools,
    ...(options.approvals === 'sealane' && { approver: 'an operator' }),
    maxMediaBytes: options.maxMediaBytes,
    readFile: async (place) => await readMedia(await link.connected(signal), options.agentId, place),
  });
  const begun = known?.bootId === NOT_BEGUN ? undefined : known;
  if (begun) runIds.add(begun.runId);
  let onStranger = (): void => undefined;
  let onSettled = (_runId: string): void => undefined;
  using _ = link.watch(turn.session, (event) => {
    if (!runIds.has(event.runId)) return onStranger();
    reporter.observe(event);
    if (event.kind === 'settled') onSettled(event.runId);
  });
  let ref = begun;
  let ahead = run.ahead;
  let trouble: string | undefined;

  const onTrouble = (why: string): void => {
    if (trouble === undefined) reporter.status(`${why} The task waits for it.`);
    trouble = why;
  };

  /** The first is always the same, so that a message is found again whose sender was started anew. */
  const newRunId = (): string => {
    for (let number = 1; ; number += 1) {
      const runId = number === 1 ? turn.runId : `${turn.runId}-${number}`;
      if (!runIds.has(runId)) return runId;
    }
  };

  const begin = async (socket: GatewaySocket, goesOn: boolean, sameId?: string): Promise<RunAnswer> => {
    for (let tried = 1; ; tried += 1) {
      const next: GatewayRef = {
        runId: sameId ?? newRunId(),
        sessionKey: turn.session,
        bootId: socket.bootId,
        goesOn,
      };
      const prepared = Promise.all([
        run.rights.ensure(socket, turn.session, turn.permission, ahead),
        io.remember(next),
      ]);
      // Nothing has begun: a cancel does not wait for a Gateway that is slow to answer.
      const [rights] = await Promise.race([prepared, whenAborted(signal)]);
      ahead = undefined;
      if (!rights.ok) throw new Refusal(rights.why);
      signal.throwIfAborted();
      ref = next;
      runIds.add(next.runId);
      try {
        return await call(socket, next, rights.sessionId);
      } catch (error) {
        // Somebody reset the session between our look and the call.
        const wasReset = error instanceof GatewayError && error.message.includes('changed before expected work');
        if (!wasReset || tried >= SESSION_TRIES) throw error;
      }
    }
  };

  const call = async (socket: GatewaySocket, next: GatewayRef, sessionId: string): Promise<RunAnswer> => {
    const { runId } = next;
    const final = Promise.withResolvers<RunAnswer>();
    const over = new Promise<void>((resolve) => (onSettled = (id) => id === runId && resolve()));
    const first = await socket.request('agent', agentParams(run, next, sessionId), {
      onFinal: (answer) => final.resolve(answerOf(answer)),
      ...(turn.traceparent !== undefined && { traceparent: turn.traceparent }),
    });
    const answer = answerOfFinal(first);
    if (answer) return answer;
    if (isInFlight(first)) return await waitFor(socket, runId);
    const told = new AbortController();
    using gone = socket.whenClosed();
    const broken = gone.promise.then((why) => Promise.reject(why));
    const lastWord = over
      .then(() => delay(LAST_WORD_MS, undefined, { ref: false, signal: told.signal }))
      .then(() => waitFor(socket, runId));
    try {
      return await Promise.race([final.promise, lastWord, broken, whenAborted(signal)]);
    } finally {
      told.abort();
    }
  };

  const waitFor = async (socket: GatewaySocket, runId: string): Promise<RunAnswer> => {
    for (;;) {
      const askedAt = performance.now();
      const waiting = socket.request(
        'agent.wait',
        { runId, timeoutMs: WAIT_MS },
        { timeoutMs: WAIT_MS + options.requestTimeoutMs },
      );
      const answer = answerOfWait(await Promise.race([waiting, whenAborted(signal)]));
      if (answer) return answer;
      // A Gateway that does not wait is not asked without a pause.
      const pauseMs = askedAt + ASK_AGAIN_MS - performance.now();
      if (pauseMs > 0) await Promise.race([delay(pauseMs), whenAborted(signal)]);
    }
  };

  const resume = async (socket: GatewaySocket, from: GatewayRef): Promise<RunAnswer | 'gone'> => {
    for (;;) {
      const { record, answer, mayBeResumed } = await findRun(socket, from, options.resumeWaitMs);
      for (const id of record.runIds) runIds.add(id);
      if (record.pieces.length > 0) reporter.restate(record.pieces);
      if (answer) return answer;
      const isResumed = record.active !== undefined && record.active !== from.runId;
      if (isResumed && !(await run.rights.mayBeResumed(socket, turn.permission))) {
        await stopRun(link, from, { signal, resumeWaitMs: 0 });
        return await begin(socket, true);
      }
      if (record.active !== undefined) {
        const end = await waitFor(socket, record.active);
        const { record: whole } = await findRun(socket, from, 0);
        if (whole.pieces.length > 0) reporter.restate(whole.pieces);
        return { ...end, metadata: whole.answer?.metadata ?? end.metadata };
      }
      if (!mayBeResumed) {
        if (record.isKnown) return 'gone';
        // The transcript has no word of it, so nothing was done. The same Gateway knows by the id what it was given.
        return await begin(socket, from.goesOn, socket.bootId === from.bootId ? from.runId : undefined);
      }
      const seen = new Promise<void>((resolve) => (onStranger = resolve));
      await Promise.race([seen, delay(ASK_AGAIN_MS), whenAborted(signal)]);
    }
  };

  const isLeaving = (): boolean => io.signal.reason === 'shutdown';

  const stopped = async (): Promise<TurnEnd> => {
    if (isLeaving()) {
      // What the Gateway has not heard of yet is handed over by whoever comes next.
      if (ref === undefined) await io.remember({ runId: newRunId(), sessionKey: turn.session, bootId: NOT_BEGUN });
      return LET_GO;
    }
    // A run whose lease is lost belongs to whoever took it over.
    if (ref && io.signal.reason !== 'lost') {
      await stopRun(link, ref, { signal: run.givingUp, resumeWaitMs: options.resumeWaitMs });
    }
    return { state: 'canceled' };
  };

  for (;;) {
    let socket: GatewaySocket | undefined;
    try {
      const tries = ref === undefined && options.whenDown === 'fail' ? 1 : Number.POSITIVE_INFINITY;
      socket = await link.connected(signal, { tries, onTrouble });
      await run.attended(signal);
      if (trouble !== undefined) reporter.status('The OpenClaw Gateway is back.');
      trouble = undefined;
      const answer = ref === undefined ? await begin(socket, false) : await resume(socket, ref);
      if (answer === 'gone') return answer;
      const end = await reporter.finish(answer);
      // The end came too late to be told in whole; it will be found again.
      return isLeaving() ? LET_GO : end;
    } catch (error) {
      if (signal.aborted) return await stopped();
      if (!isUnreachable(error) || (socket === undefined && options.whenDown === 'fail')) throw error;
      onTrouble(error.message);
      using gone = socket?.whenClosed();
      if (gone) await Promise.race([gone.promise, delay(ASK_AGAIN_MS)]);
    }
  }
};

const agentParams = ({ turn, input, options }: TurnRun, { runId, goesOn }: GatewayRef, sessionId: string): object => {
  const isOwner = turn.permission === 'agent-default';
  const message = isOwner ? input.text : withoutCommand(input.text);
  return {
    message: goesOn ? GO_ON : message,
    sessionKey: turn.session,
    idempotencyKey: runId,
    deliver: false,
    expectedExistingSessionId: sessionId,
    ...(!isOwner && { disableMessageTool: true }),
    ...(input.images.length > 0 && !goesOn && { attachments: input.images }),
    ...(options.thinking !== undefined && { thinking: options.thinking }),
    ...(options.timeoutSeconds !== undefined && { timeout: options.timeoutSeconds }),
  };
};

const answerOf = (final: FinalAnswer): RunAnswer =>
  answerOfFinal(final.payload) ?? {
    outcome: 'error',
    error: final.ok ? 'OpenClaw gave no answer.' : final.error.message,
    media: [],
    metadata: {},
  };

const isInFlight = (value: unknown): boolean => (value as { readonly status?: unknown } | null)?.status === 'in_flight';

const whenAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason as Error);
    else signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
