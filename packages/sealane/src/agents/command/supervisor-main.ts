/**
 * The supervisor: a process of its own that ends the runs of a Sealane process which died or stopped. It reads lines:
 *
 * - `watch TOKEN PID SINCE SOCKETS` (PID `-` before the program has one, SOCKETS comma-separated or `-`), answered by
 *   `watching TOKEN`; sent again when the pid is known;
 * - `unwatch TOKEN`;
 * - `beat`.
 *
 * The first lines come as arguments, behind the beat limit. When its input ends, or no line came for the beat limit,
 * it says `ending TOKEN` of every watched tree, kills it, and exits. It imports nothing but Node and its neighbours, so it runs from source and
 * from a build alike, and quickly.
 */
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';

import { createProcessTree, keepLearning, systemReader } from './process-tree.ts';
import type { ProcessTree } from './process-tree.ts';

/** A program may be between fork and exec when its parent dies, without any mark yet: so look for this long. */
const SWEEP_MS = 2000;
const SWEEP_EVERY_MS = 50;
/** A process that survives SIGKILL this long is stuck in the kernel; waiting for it helps nobody. */
const GIVE_UP_MS = 60_000;
const TICKS_PER_LIMIT = 5;

const beatLimitMs = Number(process.argv[2]);
const tickMs = beatLimitMs / TICKS_PER_LIMIT;
const reader = systemReader();
const trees = new Map<string, ProcessTree>();
let beatAt = performance.now();
let tickAt = beatAt;
let isSweeping = false;

// It outlives the terminal and the group of its parent, and leaves when the parent's end of the pipe closes.
for (const signal of ['SIGINT', 'SIGHUP', 'SIGTERM'] as const) process.on(signal, () => undefined);
process.stdout.on('error', () => undefined);

const sweep = async (): Promise<void> => {
  if (isSweeping) return;
  isSweeping = true;
  for (const token of trees.keys()) process.stdout.write(`ending ${token}\n`);
  const signal = AbortSignal.timeout(GIVE_UP_MS);
  const until = performance.now() + (trees.size > 0 ? SWEEP_MS : 0);
  do {
    await Promise.all([...trees.values()].map((tree) => tree.end({ graceMs: 0, signal })));
    await setTimeout(trees.size > 0 ? SWEEP_EVERY_MS : 0);
  } while (performance.now() < until);
  process.exit(0);
};

const obey = (line: string): void => {
  // Too late for this supervisor: a parent that woke up finds it gone and starts another, which must not be asked to
  // kill what the parent starts from now on.
  if (isSweeping) return;
  beatAt = performance.now();
  const [word, token, pid = '-', since, sockets = '-'] = line.split(' ');
  if (token === undefined) return;
  if (word === 'unwatch') trees.delete(token);
  if (word !== 'watch') return;
  const mark = { token, since: Number(since), sockets: sockets === '-' ? [] : sockets.split(',') };
  const tree = trees.get(token) ?? createProcessTree(mark, reader);
  if (pid !== '-') tree.add(Number(pid));
  trees.set(token, tree);
  process.stdout.write(`watching ${token}\n`);
};

const tick = (): void => {
  const now = performance.now();
  // Our own clock stood still too (the machine slept, or all of us were stopped): the parent gets a new chance.
  if (now - tickAt > 2 * tickMs) beatAt = now;
  tickAt = now;
  if (trees.size > 0 && now - beatAt > beatLimitMs) void sweep();
};

for (const line of process.argv.slice(3)) obey(line);
createInterface({ input: process.stdin })
  .on('line', obey)
  .on('close', () => void sweep());
setInterval(tick, tickMs);
keepLearning(() => trees.values(), reader, Math.max(tickMs, 1000));
