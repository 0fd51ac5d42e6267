import { once } from 'node:events';

import type { RunIo, Turn, TurnEnd } from '../../agent-connector.ts';
import { readLocalMedia } from '../cli/local-media.ts';
import { agentEventOf } from '../gateway/agent-event.ts';
import { answerOfFinal, type RunAnswer } from '../gateway/run-answer.ts';
import { createRunReporter, type RunReporter } from '../gateway/run-reporter.ts';
import { MAX_MEDIA_BYTES } from '../media-parts.ts';
import { type IncomingMessage, withoutCommand } from '../incoming-message.ts';
import type { EmbeddedOptions } from './embedded-options.ts';
import type { EmbeddedRef } from './embedded-ref.ts';
import type { EmbeddedRun, SessionEntry } from './openclaw-runtime.ts';
import { prepareSession } from './prepare-session.ts';
import { runRights } from './run-rights.ts';

export interface EmbeddedTurn {
  readonly turn: Turn;
  readonly io: RunIo;
  readonly input: Extract<IncomingMessage, { ok: true }>;
  readonly options: EmbeddedOptions;
  /** Aborts on whatever ends the run early. */
  readonly signal: AbortSignal;
}

/** OpenClaw stops, and the run had not begun: whoever comes next begins it. */
export class NotBegun extends Error {
  override readonly name = 'NotBegun';
}

/** OpenClaw has ended the run for reasons of its own. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

/** Codes of OpenClaw's errors: somebody stopped the run there; it had to go on with its restart. */
const STOPPED = 'OPENCLAW_DIRECT_ABORT';
const OUT_OF_PATIENCE = 'OPENCLAW_RESTART_ABORT';

const WAITING = 'OpenClaw is about to stop or to start again. The task waits for that.';

/** One turn inside the Gateway: its session prepared, run with the rights of the caller, told as it goes. */
export const runEmbeddedTurn = async (run: EmbeddedTurn): Promise<TurnEnd> => {
  const { turn, io, options, signal } = run;
  const config = options.runtime.config.current();
  const workspace = options.runtime.agent.resolveAgentWorkspaceDir(config, options.agentId);
  const reporter = createRunReporter(turn, io, {
    showTools: options.toolUpdates !== 'off' && turn.permission === 'agent-default',
    readFile: (place) => readLocalMedia(place, { roots: [workspace], workspace, maxBytes: MAX_MEDIA_BYTES }),
  });
  const session = await prepareSession(options, turn);
  signal.throwIfAborted();
  const ref = { runId: `${turn.runId}-${turn.number}-${io.attempt}`, sessionKey: turn.session, hasBegun: true };
  await io.remember(ref);
  const params = paramsOf(run, ref, { session, config, workspace });
  return await reporter.finish(await answerOf(params, run, ref, reporter));
};

const answerOf = async (
  params: EmbeddedRun,
  { io, options, signal }: EmbeddedTurn,
  ref: EmbeddedRef,
  reporter: RunReporter,
): Promise<RunAnswer> => {
  let isAtWork = false;
  const stopListening = options.runtime.events.onAgentEvent(({ runId, stream, data }) => {
    if (runId !== ref.runId) return;
    isAtWork = true;
    const event = agentEventOf({ ...ref, stream, data });
    if (event) reporter.observe(event);
  });
  try {
    const result = await options.detached(() => options.runtime.agent.runEmbeddedAgent(params));
    return answerOfFinal({ status: 'ok', result }) ?? failure('OpenClaw gave an answer that cannot be read.');
  } catch (error) {
    if (signal.aborted) throw error;
    const why = error instanceof Error ? error : new Error(String(error));
    const code = 'code' in why ? why.code : undefined;
    if (code === STOPPED) return { outcome: 'aborted', media: [], metadata: {} };
    if (code === OUT_OF_PATIENCE)
      throw new Interrupted('OpenClaw was started anew while it worked. Send the message again.');
    // OpenClaw takes no new work when it is about to stop, and never takes any again before it is started anew.
    if (isAtWork || why.name !== 'GatewayDrainingError') return failure(why.message);
  } finally {
    stopListening();
  }
  await io.remember({ ...ref, hasBegun: false });
  reporter.status(WAITING);
  if (!signal.aborted) await once(signal, 'abort');
  throw new NotBegun(WAITING);
};

const failure = (error: string): RunAnswer => ({ outcome: 'error', error, media: [], metadata: {} });

const paramsOf = (
  { turn, input, options, signal }: EmbeddedTurn,
  { runId, sessionKey }: EmbeddedRef,
  place: { readonly session: SessionEntry; readonly config: unknown; readonly workspace: string },
): EmbeddedRun => ({
  ...runRights(turn.permission),
  sessionId: place.session.sessionId,
  sessionKey,
  agentId: options.agentId,
  runId,
  prompt: turn.permission === 'agent-default' ? input.text : withoutCommand(input.text),
  ...(input.images.length > 0 && {
    images: input.images.map(({ mimeType, content }) => ({ type: 'image', data: content, mimeType })),
  }),
  config: place.config,
  workspaceDir: place.workspace,
  agentDir: options.runtime.agent.resolveAgentDir(place.config, options.agentId),
  timeoutMs: options.timeoutMs,
  trigger: 'user',
  terminalReplyExpectation: 'required',
  abortSignal: signal,
});
