import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

import type { ChildStreams } from './child-streams.ts';
import { findProgram } from './find-program.ts';
import { codeOf, noRoom } from './no-room.ts';

/** How a program ended: one of the two is set. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export type Started =
  | { readonly ok: true; readonly pid: number; readonly exited: Promise<Exit> }
  /** For people: why it did not start, and what to do about it. `detail` names paths and is the operator's alone. */
  | { readonly ok: false; readonly why: string; readonly detail?: string; readonly retryable: boolean };

export interface ProgramStart {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly streams: ChildStreams;
}

/** Starts a program without a shell and as the leader of a session of its own, which its tree is known by. */
export const startProgram = async ({ program, args, cwd, env, streams }: ProgramStart): Promise<Started> => {
  let child: ChildProcess;
  try {
    child = spawn(program, args, { cwd, env, stdio: [...streams.ends], detached: true });
  } catch (error) {
    return await explain(error, program, cwd, env);
  } finally {
    streams.handOver();
  }
  if (child.pid === undefined) {
    const [error] = (await once(child, 'error').catch((failure: unknown) => [failure])) as [unknown];
    return explain(error, program, cwd, env);
  }
  child.on('error', () => undefined);
  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  return { ok: true, pid: child.pid, exited };
};

const explain = async (
  error: unknown,
  program: string,
  cwd: string,
  env: Readonly<Record<string, string>>,
): Promise<Started> => {
  const code = codeOf(error);
  const passing = noRoom(error);
  if (passing !== undefined) return { ok: false, retryable: true, why: passing };
  if (code === 'E2BIG') {
    return {
      ok: false,
      retryable: false,
      why: 'The message is too long for an argument. Set `input: stdin` or `input: json` for this agent.',
    };
  }
  // The system says "not found" for the program, its directory and its interpreter alike.
  const found = await findProgram(program, cwd, env);
  if (!found.ok)
    return { ok: false, retryable: false, why: found.isMissing ? MISSING : UNSTARTABLE, detail: found.why };
  // Not the error's own words: they may show the environment.
  return code === 'ENOENT'
    ? {
        ok: false,
        retryable: false,
        why: MISSING,
        detail: `The interpreter that ${found.path} names in its first line is not installed. Install it, or correct that line.`,
      }
    : {
        ok: false,
        retryable: false,
        why: UNSTARTABLE,
        detail: `The program ${found.path} cannot be started (${code || 'for an unknown reason'}).`,
      };
};

const MISSING =
  'The program of this agent is missing. Its operator finds what to do in the log and with `sealane doctor`.';
const UNSTARTABLE =
  'The program of this agent cannot be started. Its operator finds the reason in the log and with `sealane doctor`.';
