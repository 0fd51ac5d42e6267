import { hostname } from 'node:os';

import { z } from 'zod';

import type { RunRef } from '../agent-connector.ts';
import type { ProcessReader } from './process-table.ts';
import type { TreeMark } from './process-tree.ts';
import { createProcessTree } from './process-tree.ts';

/** How a run is found again. It is remembered before the program starts, so it knows the mark and no pid yet. */
const commandRef = z.object({
  token: z.string().min(1),
  since: z.number(),
  sockets: z.array(z.string()),
  host: z.string(),
  bootId: z.string(),
  pid: z.number().nullable(),
  startTime: z.number().nullable(),
});
export type CommandRef = z.output<typeof commandRef>;

export const refOf = async (mark: TreeMark, reader: ProcessReader): Promise<CommandRef> => ({
  token: mark.token,
  since: mark.since,
  sockets: [...mark.sockets],
  host: hostname(),
  bootId: await reader.bootId(),
  pid: null,
  startTime: null,
});

/** Ends a run that any Sealane process on this machine has started. */
export const stopRef = async (
  ref: RunRef,
  {
    reader,
    graceMs,
    signal,
  }: { readonly reader: ProcessReader; readonly graceMs: number; readonly signal: AbortSignal },
): Promise<'dead' | 'unknown'> => {
  const parsed = commandRef.safeParse(ref);
  // A machine that we are not on may well go on with it.
  if (!parsed.success || parsed.data.host !== hostname()) return 'unknown';
  // Nothing outlives the machine's boot.
  if (parsed.data.bootId !== (await reader.bootId())) return 'dead';
  const tree = createProcessTree(parsed.data, reader);
  return (await tree.end({ graceMs, signal })) ? 'dead' : 'unknown';
};
