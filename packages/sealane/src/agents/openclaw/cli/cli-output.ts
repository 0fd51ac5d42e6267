import { z } from 'zod';

import type { JsonObject } from '#domain';

import { answerOfFinal } from '../gateway/run-answer.ts';
import { type CliFailure, failureOf } from './cli-failure.ts';

export interface CliAnswer {
  readonly kind: 'answer';
  readonly text: string;
  readonly media: readonly string[];
  /** The directory that relative paths in `media` start from. */
  readonly workspace?: string;
  readonly metadata: JsonObject;
}

/** What the output of a run means. */
export type CliOutcome = CliAnswer | CliFailure | { readonly kind: 'stopped'; readonly metadata: JsonObject };

const issue = z.object({ path: z.string().optional(), message: z.string() });
/** What the program prints instead of an answer. */
const refusal = z.object({
  ok: z.literal(false),
  status: z.string().optional(),
  error: z.object({ kind: z.string().optional(), message: z.string().optional() }).optional(),
  issues: z.array(issue).optional(),
});

/** What we want to know of an answer beyond what the Gateway's answers tell too. */
const envelope = z.object({
  status: z.string(),
  result: z
    .object({
      payloads: z.array(z.unknown()),
      meta: z
        .object({
          timeoutPhase: z.string().optional().catch(undefined),
          systemPromptReport: z.object({ workspaceDir: z.string().optional() }).optional().catch(undefined),
        })
        .nullish(),
    })
    .nullish(),
});

/**
 * Reads what `openclaw agent --json` has printed. An answer of a program that ended badly is not trusted, and one that
 * looks like a success can still say that it is none. Nothing if it is not what OpenClaw prints.
 */
export const readCliOutput = (
  printed: string,
  { endedWell }: { readonly endedWell: boolean },
): CliOutcome | undefined => {
  const value = jsonIn(printed);
  const refused = refusal.safeParse(value);
  if (refused.success) return refusedOutcome(refused.data);
  // A Gateway wraps the answer; the program itself prints what is inside.
  const whole = isRecord(value) && 'payloads' in value ? { status: 'ok', result: value } : value;
  const facts = envelope.safeParse(whole).data;
  const answer = answerOfFinal(whole);
  if (!facts || !answer || (answer.outcome === 'ok' && !facts.result)) return undefined;
  const { metadata } = answer;
  const meta = facts.result?.meta;
  if (answer.outcome === 'aborted') return { kind: 'stopped', metadata };
  if (answer.outcome === 'timeout' || (answer.outcome === 'error' && meta?.timeoutPhase !== undefined))
    return { ...failureOf(answer.error ?? '', metadata), reason: 'timeout', retryable: false };
  if (answer.outcome === 'error') return failureOf(answer.error ?? '', metadata);
  if (!endedWell) return failureOf(`OpenClaw ended with an error after it had said: ${answer.text ?? ''}`, metadata);
  const workspace = meta?.systemPromptReport?.workspaceDir;
  return {
    kind: 'answer',
    text: answer.text ?? '',
    media: answer.media,
    metadata,
    ...(workspace !== undefined && { workspace }),
  };
};

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

const refusedOutcome = ({ status, error, issues }: z.output<typeof refusal>): CliFailure => {
  const details = (issues ?? []).map(({ path, message }) => (path ? `${path}: ${message}` : message));
  const isTimeout = status === 'timeout' || error?.kind === 'timeout';
  const failure = failureOf([error?.message ?? (isTimeout ? TIMED_OUT : ''), ...details].join('\n'));
  return isTimeout ? { ...failure, reason: 'timeout' } : failure;
};

const TIMED_OUT = 'OpenClaw ended the run at its time limit.';

/** The output is one JSON value, but something in the program may have printed a line before it. */
const jsonIn = (printed: string): unknown => {
  for (const start of startsOf(printed)) {
    try {
      return JSON.parse(printed.slice(start)) as unknown;
    } catch {
      // Not from here.
    }
  }
  return undefined;
};

/** A program that prints very many lines must not hold up everybody while each of them is tried. */
const MAX_STARTS = 1000;

/** Where a value may begin, the first place first; of very many, the last ones. */
const startsOf = (printed: string): readonly number[] => {
  const starts: number[] = [];
  for (let at = printed.lastIndexOf('\n{'); at >= 0 && starts.length < MAX_STARTS;) {
    starts.push(at + 1);
    at = at === 0 ? -1 : printed.lastIndexOf('\n{', at - 1);
  }
  return [0, ...starts.toReversed()];
};
