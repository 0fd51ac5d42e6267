import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { text } from 'node:stream/consumers';

import { CliError } from '../cli-error.ts';
import { oneLine } from '../printable.ts';

export interface ToolResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export type RunTool = (program: string, ...words: readonly string[]) => Promise<ToolResult>;

/** Nothing of the system's manager takes so long, not even to stop a service that lets its runs end. */
const PATIENCE_MS = 90_000;

/** Runs a program of the system and reads what it says, in English and in UTC so that it can be understood. */
export const createRunTool =
  (env: NodeJS.ProcessEnv): RunTool =>
  async (program, ...words) => {
    const child = spawn(program, words, {
      env: { ...env, LC_ALL: 'C', TZ: 'UTC' },
      stdio: ['ignore', 'pipe', 'pipe'],
      // Not `timeout`, whose clock would keep us waiting for a program that does not even exist.
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    try {
      const [stdout, stderr, [code]] = await Promise.all([
        text(child.stdout),
        text(child.stderr),
        once(child, 'close'),
      ]);
      return { code: (code as number | null) ?? -1, stdout, stderr };
    } catch (error) {
      const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
      return { code: -1, stdout: '', stderr: isMissing ? `there is no program ${program}` : String(error) };
    }
  };

/** The same for a call that must succeed. */
export const requireTool =
  (run: RunTool): RunTool =>
  async (program, ...words) => {
    const result = await run(program, ...words);
    if (result.code === 0) return result;
    const said = oneLine(result.stderr || result.stdout, 400) || `exit code ${result.code}`;
    throw new CliError('unavailable', `${[program, ...words].join(' ')} failed: ${said}`, { exitCode: 1 });
  };

/** Hands the terminal to a program until it ends, and answers its exit code; Ctrl-C is for that program. */
export const passThrough = async (program: string, words: readonly string[]): Promise<number> => {
  const child = spawn(program, words, { stdio: 'inherit' });
  const forward = (signal: NodeJS.Signals) => void child.kill(signal);
  process.on('SIGINT', forward).on('SIGTERM', forward);
  try {
    const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
    return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
  } catch (error) {
    throw new CliError('unavailable', `${program} cannot be started: ${(error as Error).message}.`, { exitCode: 1 });
  } finally {
    process.off('SIGINT', forward).off('SIGTERM', forward);
  }
};
