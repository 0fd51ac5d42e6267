import { SealaneError, type ErrorCode } from '#domain';

import { commandWords, typed } from './command-name.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';

/** A failure as the command line tells it: what happened, what to type next, and the exit code. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly code: ErrorCode | 'usage' | 'unreachable' | 'task-failed' | 'task-rejected';
  readonly next: string | undefined;
  readonly exitCode: ExitCode;
  readonly retryAfterMs: number | undefined;
  /** The line broke in the middle: the same call may go through now. */
  readonly isTransient: boolean;

  constructor(
    code: CliError['code'],
    message: string,
    details: {
      readonly next?: string | undefined;
      readonly exitCode?: ExitCode;
      readonly retryAfterMs?: number | undefined;
      readonly isTransient?: boolean;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.next = details.next ?? nextStep(code);
    this.exitCode = details.exitCode ?? exitCodeOf(code);
    this.retryAfterMs = details.retryAfterMs;
    this.isTransient = details.isTransient ?? false;
  }
}

export const usageError = (message: string, next?: string): CliError => new CliError('usage', message, { next });

/** Anything that was thrown, as a failure to show. */
export const toCliError = (error: unknown): CliError => {
  if (error instanceof CliError) return error;
  if (error instanceof SealaneError)
    return new CliError(error.code, error.message, { cause: error, retryAfterMs: error.retryAfterMs });
  return new CliError('internal', error instanceof Error ? error.message : String(error), { cause: error });
};

const EXIT_CODES: Partial<Record<CliError['code'], ExitCode>> = {
  usage: EXIT.usage,
  'bad-config': EXIT.usage,
  'invalid-params': EXIT.usage,
  'invalid-request': EXIT.usage,
  unreachable: EXIT.unreachable,
  unavailable: EXIT.unreachable,
  unauthenticated: EXIT.notAllowed,
  forbidden: EXIT.notAllowed,
  'not-found': EXIT.notFound,
  'task-not-found': EXIT.notFound,
  'agent-not-found': EXIT.notFound,
};

const exitCodeOf = (code: CliError['code']): ExitCode => EXIT_CODES[code] ?? EXIT.failed;

/** The next command for failures whose cause does not know a better one. */
const NEXT_STEPS: Partial<Record<CliError['code'], () => string>> = {
  'bad-config': () => commandWords().checkConfig,
  unauthenticated: () =>
    `${typed('key')}   # on the machine of the service; then --key KEY, or export SEALANE_API_KEY=KEY`,
  forbidden: () => `${typed('key')}   # the admin key, on the machine of the service`,
  'task-not-found': () => typed('tasks', 'list'),
  'agent-not-found': () => typed('doctor'),
  unavailable: () => typed('doctor'),
  unreachable: () => typed('doctor'),
  'lane-full': () => typed('lanes', 'list'),
  'owner-full': () => typed('lanes', 'list'),
  'too-large': () => 'send less, or raise limits.bodyBytes in sealane.yaml and start the service again',
  'storage-full': () => 'df -h   # then free some space on the disk that is full',
  'store-locked': () => typed('doctor'),
  'store-damaged': () => `${typed('restore', 'FILE')}   # or another folder: ${typed('serve', '--data-dir', 'FOLDER')}`,
  'store-newer': () => typed('serve', '--data-dir', 'FOLDER'),
  'store-unwritable': () => typed('serve', '--data-dir', 'FOLDER'),
  'idempotency-conflict': () => 'use another --idempotency-key for another message',
};

const nextStep = (code: CliError['code']): string | undefined => NEXT_STEPS[code]?.();
