import { SealaneError } from '#domain';

import { sqliteError } from './sqlite-error.ts';

// What crosses between the event loop and the store's thread: JSON text, which costs a quarter of a structured clone.

export type WorkerRequest = readonly (readonly [name: string, args: readonly unknown[]])[];
/** A request crosses as one text for each call. */
export const requestOf = (texts: readonly string[]): WorkerRequest =>
  texts.map((text) => JSON.parse(text) as WorkerRequest[number]);
/** Answers one request, several at once, or the first calls of one. The outcomes are in the order of the calls. */
export interface WorkerReply {
  readonly outcomes: readonly Outcome[];
  readonly wakes: readonly string[];
  /** How long it took until everything was durable. Null: nothing had to be made durable. */
  readonly commitMs: number | null;
}
export type Outcome =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: PlainError };
export interface PlainError {
  readonly code: string | undefined;
  readonly message: string;
  readonly stack: string | undefined;
  readonly facts: Readonly<Record<string, string>>;
  readonly retryAfterMs: number | undefined;
  readonly forCallers: string | undefined;
}

export const plainError = (thrown: unknown, file: string): PlainError => {
  const error = sqliteError(thrown, file);
  const known = error instanceof SealaneError ? error : undefined;
  return {
    code: known?.code,
    message: error instanceof Error ? error.message : String(error),
    stack: error instanceof Error ? error.stack : undefined,
    facts: known?.facts ?? {},
    retryAfterMs: known?.retryAfterMs,
    forCallers: known?.forCallers,
  };
};

/**
 * An outcome as text. The outcome of a list can be longer than a text can be (half a gigabyte): only its caller gets
 * that error.
 */
export const textOf = (outcome: Outcome): string => {
  try {
    return JSON.stringify(outcome);
  } catch (cause) {
    const tooMuch = 'The answer would be too large. Ask for fewer tasks at once, or without artifacts.';
    return JSON.stringify({ ok: false, error: plainError(new SealaneError('too-large', tooMuch, { cause }), '') });
  }
};

/** A reply with these outcomes, which are text already. */
export const replyOf = (
  outcomes: readonly string[],
  wakes: readonly string[] = [],
  commitMs: number | null = null,
): string => `{"outcomes":[${outcomes.join(',')}],"wakes":${JSON.stringify(wakes)},"commitMs":${String(commitMs)}}`;
