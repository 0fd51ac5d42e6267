import { z } from 'zod';

import type { Artifact, Json, JsonObject, Message, Part } from '#domain';
import { SealaneError, standardBase64 } from '#domain';

import type { RunIo, TurnEnd } from '../agent-connector.ts';

/** It was parsed a moment ago: to look through all of it again would hold up everybody for seconds, and deep ones fail. */
const json = z.custom<Json>((value) => value !== undefined);

/** What programs may print as JSON. Members that we do not know are left out, so that programs can be ahead of us. */
const metadata: z.ZodType<JsonObject> = z.record(z.string(), json);

const base64 = z.string().transform((text, context) => {
  const standard = standardBase64(text);
  if (standard !== undefined) return standard;
  context.addIssue('it must be base64');
  return z.NEVER;
});

const part: z.ZodType<Part> = z
  .object({
    text: z.string().exactOptional(),
    raw: base64.exactOptional(),
    url: z.string().exactOptional(),
    data: json.exactOptional(),
    mediaType: z.string().exactOptional(),
    filename: z.string().exactOptional(),
    metadata: metadata.exactOptional(),
  })
  .refine(
    (one) => [one.text, one.raw, one.url, one.data].filter((content) => content !== undefined).length === 1,
    'a part has exactly one of text, raw, url and data',
  );

const parts = z.array(part).min(1);

const artifact = z.object({
  artifactId: z.string().min(1).exactOptional(),
  parts,
  name: z.string().exactOptional(),
  description: z.string().exactOptional(),
  metadata: metadata.exactOptional(),
});
export type PrintedArtifact = z.output<typeof artifact>;

const message = z.union([z.string(), z.object({ parts, metadata: metadata.exactOptional() })]);
export type PrintedMessage = z.output<typeof message>;

const endState = z.enum(['completed', 'failed', 'input-required', 'auth-required', 'rejected']);

const ending = {
  message: message.exactOptional(),
  metadata: metadata.exactOptional(),
  /** Only with `failed`: another attempt could succeed. */
  retryable: z.boolean().exactOptional(),
};

/** The whole output of a program with `output: json`. */
export const jsonAnswer = z.object({
  text: z.string().exactOptional(),
  parts: parts.exactOptional(),
  artifacts: z.array(artifact).exactOptional(),
  state: endState.default('completed'),
  ...ending,
});

/** One line of a program with `output: jsonl`. */
export const jsonLine = z.union([
  z.object({ text: z.string() }),
  z.object({ status: message, metadata: metadata.exactOptional() }),
  z.object({ artifact, append: z.boolean().exactOptional(), lastChunk: z.boolean().exactOptional() }),
  z.object({ ask: message, state: z.enum(['input-required', 'auth-required']).default('input-required') }),
  z.object({ end: endState, ...ending }),
]);

export const messageOf = (printed: PrintedMessage, io: Pick<RunIo, 'say'>): Message =>
  typeof printed === 'string' ? io.say(printed) : { ...io.say(''), ...printed };

export const artifactOf = (printed: PrintedArtifact, fallbackId: string): Artifact => ({
  ...printed,
  artifactId: printed.artifactId ?? fallbackId,
});

export const endOf = (
  state: z.output<typeof endState>,
  said: { readonly message?: PrintedMessage; readonly metadata?: JsonObject; readonly retryable?: boolean },
  io: Pick<RunIo, 'say'>,
): TurnEnd => ({
  state,
  ...(said.message !== undefined && { message: messageOf(said.message, io) }),
  ...(said.metadata && { metadata: said.metadata }),
  ...(state === 'failed' && { reason: 'agent', retryable: said.retryable === true }),
});

/** How much of an output that cannot be understood is shown. */
const SHOWN = 200;

export const badOutput = (why: string, printed: string): SealaneError =>
  new SealaneError(
    'invalid-agent-response',
    `${why} It printed: ${printed.length > SHOWN ? `${printed.slice(0, SHOWN)}…` : printed}`,
    { facts: { reason: 'bad-output' } },
  );

/** Text that should be JSON. */
export const parseJson = (text: string, want: string): unknown => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw badOutput(want, text);
  }
};

export const firstIssue = (error: {
  readonly issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[];
}): string => {
  const [issue] = error.issues;
  return issue ? `${issue.path.map(String).join('.') || 'the whole'}: ${issue.message}` : 'unknown';
};
