import type { State } from '#domain';

/** What a script can tell from the exit code; part of the operator interface, so never renumbered. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  inputRequired: 3,
  canceled: 4,
  rejected: 5,
  unreachable: 6,
  notAllowed: 7,
  notFound: 8,
  storeFailed: 9,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export const EXIT_CODE_HELP = `
Exit codes:
  0  done                    5  the agent rejected the task
  1  failed (a task, or      6  the service cannot be reached
     anything else)          7  not allowed: wrong key, or not an admin key
  2  wrong usage or          8  not found
     configuration           9  serve: the store has failed, start it again
  3  the task asks for input
  4  the task was canceled 130  stopped by Ctrl-C; a task that was sent goes on`;

/** How a command that waited for a task ends. */
export const exitCodeOfState = (state: State): ExitCode => {
  switch (state) {
    case 'failed':
      return EXIT.failed;
    case 'input-required':
    case 'auth-required':
      return EXIT.inputRequired;
    case 'canceled':
      return EXIT.canceled;
    case 'rejected':
      return EXIT.rejected;
    case 'submitted':
    case 'working':
    case 'completed':
      return EXIT.ok;
    default:
      return state satisfies never;
  }
};
