import { z } from 'zod';

import { factsOf, type RunAnswer, splitMedia } from './run-answer.ts';

/** A row with something odd in it is still a row: a message that is not found would be sent again. */
const words = z.string().optional().catch(undefined);

const block = z.object({ type: words, text: words });

const row = z.object({
  role: z.string(),
  content: z
    .union([z.string(), z.array(block)])
    .nullish()
    .catch(undefined),
  idempotencyKey: words,
  provenance: z.object({ sourceTool: words }).optional().catch(undefined),
  stopReason: words,
  errorMessage: words,
  provider: words,
  model: words,
  usage: z
    .object({ input: z.number().catch(0), output: z.number().catch(0) })
    .optional()
    .catch(undefined),
  __openclaw: z.object({ runId: words }).optional().catch(undefined),
});
type Row = z.output<typeof row>;

export const historyShape = z.object({
  messages: z.array(row.catch({ role: 'unknown' })).default([]),
  inFlightRun: z.object({ runId: z.string() }).nullish(),
  pendingInputs: z.object({ total: z.number().default(0) }).optional(),
  sessionInfo: z
    .object({
      hasActiveRun: z.boolean().optional(),
      activeRunIds: z.array(z.string()).optional(),
      status: z.string().optional(),
    })
    .nullish(),
});
export type History = z.output<typeof historyShape>;

/** A turn of ours as the session's transcript has it. */
export interface TurnRecord {
  /** The transcript has the message that began it. */
  readonly isKnown: boolean;
  /** Our run, and those under which the Gateway went on with it after a crash, oldest first. */
  readonly runIds: readonly [string, ...string[]];
  /** Which of them is at work. */
  readonly active: string | undefined;
  /** Pieces of the answer, by run and number. */
  readonly pieces: readonly { readonly runId: string; readonly piece: string; readonly text: string }[];
  /** The end, if the transcript shows one. */
  readonly answer: RunAnswer | undefined;
}

/** The Gateway's own message in a turn that it takes up again. */
const RESUMED_BY = 'main_session_restart_recovery';

/** Finds a turn in the transcript: from the message that our run brought to the next one that somebody else wrote. */
export const turnInHistory = (history: History, runId: string): TurnRecord => {
  const start = history.messages.findIndex(
    ({ role, idempotencyKey }) => role === 'user' && idempotencyKey === `${runId}:user`,
  );
  const rows = start < 0 ? [] : ownRows(history.messages.slice(start + 1));
  const resumed = rows.flatMap(({ role, idempotencyKey }) =>
    role === 'user' && idempotencyKey?.endsWith(':user') ? [idempotencyKey.slice(0, -':user'.length)] : [],
  );
  const runIds: [string, ...string[]] = [runId, ...resumed];
  const activeIds = [history.inFlightRun?.runId, ...(history.sessionInfo?.activeRunIds ?? [])];
  const active = runIds.findLast((id) => activeIds.includes(id));
  const said = rows.filter(({ role }) => role === 'assistant');
  const last = rows.findLast(({ role }) => role !== 'unknown');
  return {
    isKnown: start >= 0,
    runIds,
    active,
    pieces: piecesOf(said, runIds.at(-1) ?? runId),
    answer: active === undefined && last?.role === 'assistant' ? answerOf(last, said) : undefined,
  };
};

const ownRows = (rows: readonly Row[]): readonly Row[] => {
  const end = rows.findIndex(({ role, provenance }) => role === 'user' && provenance?.sourceTool !== RESUMED_BY);
  return end < 0 ? rows : rows.slice(0, end);
};

const textOf = ({ content }: Row): string =>
  typeof content === 'string'
    ? content
    : (content ?? [])
        .filter(({ type }) => type === 'text')
        .map(({ text }) => text ?? '')
        .join('');

/** Pieces are numbered within their run, as in its events. */
const piecesOf = (said: readonly Row[], lastRunId: string): TurnRecord['pieces'] => {
  const counts = new Map<string, number>();
  return said.map((one) => {
    const runId = one.__openclaw?.runId ?? lastRunId;
    const number = (counts.get(runId) ?? 0) + 1;
    counts.set(runId, number);
    return { runId, piece: String(number), text: splitMedia(textOf(one)).text.trimEnd() };
  });
};

const answerOf = (last: Row, said: readonly Row[]): RunAnswer | undefined => {
  const { text, media } = splitMedia(textOf(last));
  const sum = (pick: 'input' | 'output'): number => said.reduce((total, one) => total + (one.usage?.[pick] ?? 0), 0);
  const facts = { provider: last.provider, model: last.model, usage: { input: sum('input'), output: sum('output') } };
  const answer = { text, media, metadata: factsOf(facts) };
  if (last.stopReason === 'error')
    return { ...answer, outcome: 'error', error: last.errorMessage ?? (text || 'OpenClaw gave no reason.') };
  if (last.stopReason === 'aborted') return { ...answer, outcome: 'aborted' };
  // It stopped to call a tool, and the tool's result is not there: this is no end.
  return last.stopReason === 'toolUse' ? undefined : { ...answer, outcome: 'ok' };
};
