import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The environment that makes each fsync of a process slower by `ms`, or why that cannot be had here. */
export type SlowDisk = { readonly env: Readonly<Record<string, string>> } | { readonly unavailable: string };

export const buildSlowDisk = (dir: string, ms: number): SlowDisk => {
  if (process.platform !== 'linux') return { unavailable: 'only on Linux' };
  const library = join(dir, 'slow-fsync.so');
  const source = fileURLToPath(new URL('slow-fsync.c', import.meta.url));
  try {
    execFileSync('cc', ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl'], { stdio: 'ignore' });
  } catch (error) {
    const isAbsent = (error as NodeJS.ErrnoException).code === 'ENOENT';
    return { unavailable: isAbsent ? 'no C compiler' : 'the C compiler failed' };
  }
  return { env: { LD_PRELOAD: library, SLOW_FSYNC_US: String(ms * 1000) } };
};
