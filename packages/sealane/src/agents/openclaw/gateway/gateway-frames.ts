import { z } from 'zod';

/** What comes over the connection, as far as we look at it. */
export const frame = z.union([
  z.object({ type: z.literal('event'), event: z.string(), payload: z.unknown().optional() }),
  z.object({
    type: z.literal('res'),
    id: z.string(),
    ok: z.boolean(),
    payload: z.unknown().optional(),
    error: z
      .object({
        code: z.string(),
        message: z.string(),
        details: z.object({ code: z.string().optional(), reason: z.string().optional() }).optional().catch(undefined),
      })
      // An answer is one, whatever it says about it.
      .optional()
      .catch(undefined),
  }),
]);

/** What counts where a Gateway says nothing, or what cannot be. */
export const POLICY = { tickIntervalMs: 30_000, maxPayload: Number.POSITIVE_INFINITY };

/** What the Gateway says when it lets us in. */
export const hello = z.object({
  auth: z
    .object({ scopes: z.array(z.string()).optional() })
    .optional()
    .catch(undefined),
  server: z.object({ version: z.string(), bootId: z.string().catch('') }),
  policy: z
    .object({
      tickIntervalMs: z.number().min(1000).max(3_600_000).catch(POLICY.tickIntervalMs),
      /** In bytes; a Gateway closes the connection over which more comes. */
      maxPayload: z.number().positive().catch(POLICY.maxPayload),
    })
    .catch(POLICY),
});

/** The JSON of a frame; nothing if it is none. */
export const parseFrame = (data: unknown): unknown => {
  try {
    return JSON.parse(String(data)) as unknown;
  } catch {
    return undefined;
  }
};
