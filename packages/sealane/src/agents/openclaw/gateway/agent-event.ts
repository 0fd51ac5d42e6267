import { z } from 'zod';

/** One thing that happened in a run, as far as we look at it. */
export type AgentEvent = { readonly runId: string; readonly sessionKey: string } & (
  | { readonly kind: 'text'; readonly piece: string; readonly text: string; readonly media: readonly string[] }
  /** Words before a tool call, which OpenClaw may tell in this way alone. */
  | { readonly kind: 'preamble'; readonly piece: string; readonly text: string }
  | { readonly kind: 'tool'; readonly name: string }
  | { readonly kind: 'approval'; readonly phase: 'waiting' | 'resolved' }
  | { readonly kind: 'settled'; readonly error: string | undefined; readonly aborted: boolean }
);

const envelope = z.object({
  runId: z.string(),
  sessionKey: z.string(),
  stream: z.string(),
  data: z.record(z.string(), z.unknown()),
});

const assistant = z.object({
  text: z.string(),
  itemId: z.string().catch('0'),
  mediaUrls: z.array(z.string()).catch([]),
});

const preamble = z.object({ kind: z.literal('preamble'), progressText: z.string(), itemId: z.string().catch('0') });

const lifecycle = z.object({
  phase: z.string(),
  executionSettled: z.boolean().catch(false),
  error: z.string().optional().catch(undefined),
  aborted: z.boolean().catch(false),
  status: z.string().optional().catch(undefined),
  startedAt: z.unknown().optional(),
});

/** The event in a frame; nothing for what we do not care about. */
export const agentEventOf = (payload: unknown): AgentEvent | undefined => {
  const parsed = envelope.safeParse(payload);
  if (!parsed.success) return undefined;
  const { runId, sessionKey, stream, data } = parsed.data;
  const found = READERS[stream]?.(data);
  return found && { runId, sessionKey, ...found };
};

type Body = AgentEvent extends infer E ? (E extends AgentEvent ? Omit<E, 'runId' | 'sessionKey'> : never) : never;

const READERS: Readonly<Record<string, (data: unknown) => Body | undefined>> = {
  // Streams have names that plugins of OpenClaw may choose, also those of an object's own methods.
  __proto__: null as never,
  assistant: (data) => {
    const { success, data: said } = assistant.safeParse(data);
    return success ? { kind: 'text', piece: said.itemId, text: said.text, media: said.mediaUrls } : undefined;
  },
  item: (data) => {
    const { success, data: said } = preamble.safeParse(data);
    return success ? { kind: 'preamble', piece: said.itemId, text: said.progressText } : undefined;
  },
  // Arguments and results stay unread: they may hold anything.
  tool: (data) => {
    const { success, data: used } = z.object({ phase: z.literal('start'), name: z.string() }).safeParse(data);
    return success ? { kind: 'tool', name: used.name } : undefined;
  },
  lifecycle: (data) => {
    const { success, data: step } = lifecycle.safeParse(data);
    if (!success) return undefined;
    if (step.phase === 'waiting-approval') return { kind: 'approval', phase: 'waiting' };
    if (step.phase === 'approval-resolved') return { kind: 'approval', phase: 'resolved' };
    // Other ends are announced before the work is really over, except where it was stopped before it began.
    const hasNotBegun = step.phase === 'end' && step.status === 'cancelled' && step.startedAt === undefined;
    if (!step.executionSettled && !hasNotBegun) return undefined;
    return {
      kind: 'settled',
      error: step.phase === 'error' ? (step.error ?? 'no reason given') : undefined,
      aborted: step.aborted,
    };
  },
};
