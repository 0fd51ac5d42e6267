import { z } from 'zod';

/** How a run is found again. It is remembered before the Gateway hears of the run. */
export const gatewayRef = z.object({
  runId: z.string().min(1),
  sessionKey: z.string().min(1),
  /** The Gateway process that was asked to do it, or `NOT_BEGUN`. */
  bootId: z.string(),
  /** It goes on with a message that an earlier run of the turn has brought. */
  goesOn: z.boolean().default(false),
});
export type GatewayRef = z.output<typeof gatewayRef>;

/** No Gateway has heard of the run: whoever finds the reference begins it. */
export const NOT_BEGUN = 'not-begun';
