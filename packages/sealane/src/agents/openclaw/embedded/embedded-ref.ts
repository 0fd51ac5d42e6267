import { z } from 'zod';

/** How a run is found again by whoever comes after us. */
export const embeddedRef = z.object({
  runId: z.string().min(1),
  sessionKey: z.string().min(1),
  /** False: OpenClaw did not take it, because it was about to stop. Nothing was done yet. */
  hasBegun: z.boolean(),
});
export type EmbeddedRef = z.output<typeof embeddedRef>;
