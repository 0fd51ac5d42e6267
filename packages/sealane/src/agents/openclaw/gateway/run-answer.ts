import { z } from 'zod';

import type { JsonObject } from '#domain';

/** How a run ended, whoever told us. */
export interface RunAnswer {
  readonly outcome: 'ok' | 'error' | 'aborted' | 'timeout';
  /** Why it did not end well. */
  readonly error?: string;
  /** The last piece of the answer, without links to media. */
  readonly text?: string;
  readonly media: readonly string[];
  /** Model and usage. */
  readonly metadata: JsonObject;
}

/** Facts that the end does not hang on: one that looks otherwise than we know it is left out. */
const words = z.string().optional().catch(undefined);
const amount = z.number().optional().catch(undefined);

const usage = z.object({ input: amount, output: amount, cacheRead: amount, cacheWrite: amount, total: amount });

const payload = z.object({
  text: z.string().nullish(),
  mediaUrl: z.string().nullish(),
  mediaUrls: z.array(z.string()).nullish(),
  isError: z.boolean().nullish(),
});

const finalShape = z.object({
  status: z.string(),
  summary: words,
  stopReason: words,
  result: z
    .object({
      payloads: z.array(payload).nullish(),
      meta: z
        .object({
          durationMs: amount,
          aborted: z.boolean().nullish(),
          error: z.object({ message: words }).nullish(),
          agentMeta: z
            .object({ provider: words, model: words, usage: usage.optional().catch(undefined) })
            .optional()
            .catch(undefined),
        })
        .nullish(),
    })
    .nullish(),
});

/** The second answer of the `agent` method, or of the same call again. */
export const answerOfFinal = (value: unknown): RunAnswer | undefined => {
  const parsed = finalShape.safeParse(value);
  if (!parsed.success || parsed.data.status === 'accepted' || parsed.data.status === 'in_flight') return undefined;
  const { status, summary, stopReason, result } = parsed.data;
  const payloads = result?.payloads ?? [];
  const meta = result?.meta;
  const text = payloads
    .map((one) => one.text ?? '')
    .filter((one) => one !== '')
    .join('\n\n');
  const answer = {
    text,
    media: payloads.flatMap((one) => one.mediaUrls ?? (one.mediaUrl ? [one.mediaUrl] : [])),
    metadata: factsOf({
      provider: meta?.agentMeta?.provider,
      model: meta?.agentMeta?.model,
      usage: meta?.agentMeta?.usage,
      durationMs: meta?.durationMs,
    }),
  };
  if (isAbort(stopReason) || summary === 'aborted' || meta?.aborted === true) return { ...answer, outcome: 'aborted' };
  if (status === 'timeout')
    return { ...answer, outcome: 'timeout', error: summary ?? 'OpenClaw ended the run at its time limit.' };
  // A run that did not finish can look like a success; what it "said" is then the error.
  const isWrong = Boolean(meta?.error) || (payloads.length > 0 && payloads.every((one) => one.isError === true));
  if (status === 'ok' && !isWrong) return { ...answer, outcome: 'ok' };
  return {
    outcome: 'error',
    error: meta?.error?.message ?? (text || summary || 'OpenClaw gave no reason.'),
    media: [],
    metadata: answer.metadata,
  };
};

const waitShape = z.object({
  status: z.string(),
  endedAt: amount,
  stopReason: words,
  error: words,
  terminalReply: z.object({ text: words }).optional().catch(undefined),
  terminalReceipt: z
    .object({ effective: z.object({ provider: words, model: words }).optional() })
    .optional()
    .catch(undefined),
});

/** What `agent.wait` knows of a run; nothing if it goes on or is unknown. */
export const answerOfWait = (value: unknown): RunAnswer | undefined => {
  const parsed = waitShape.safeParse(value);
  if (!parsed.success) return undefined;
  const { status, endedAt, stopReason, error, terminalReply, terminalReceipt } = parsed.data;
  const { text, media } = splitMedia(terminalReply?.text ?? '');
  const answer = { text, media, metadata: factsOf({ ...terminalReceipt?.effective }) };
  if (status === 'ok') return { ...answer, outcome: 'ok' };
  if (status === 'error')
    return isAbort(stopReason)
      ? { ...answer, outcome: 'aborted' }
      : { ...answer, outcome: 'error', error: error ?? 'OpenClaw gave no reason.' };
  // "timeout" without an end only says that the wait was over.
  return status === 'timeout' && endedAt !== undefined
    ? { ...answer, outcome: 'timeout', error: error ?? 'OpenClaw ended the run at its time limit.' }
    : undefined;
};

const isAbort = (stopReason: string | undefined): boolean => stopReason === 'rpc' || stopReason === 'aborted';

/** Text with lines like `MEDIA:https://…`, which name files to send. */
export const splitMedia = (text: string): { readonly text: string; readonly media: readonly string[] } => {
  const media = [...text.matchAll(/^MEDIA:\s*(\S+)\s*$/gm)].map(([, place = '']) => place);
  return { text: media.length === 0 ? text : text.replaceAll(/^MEDIA:\s*\S+\s*$\n?/gm, '').trimEnd(), media };
};

/** Facts under one name, so that they do not meet those of others in a task's metadata. */
export const factsOf = (facts: {
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  readonly usage?: z.output<typeof usage> | undefined;
  readonly durationMs?: number | undefined;
}): JsonObject => {
  const known = JSON.parse(JSON.stringify(facts)) as JsonObject;
  return Object.keys(known).length === 0 ? {} : { openclaw: known };
};
