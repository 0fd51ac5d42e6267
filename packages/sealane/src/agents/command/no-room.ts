/** The machine is short of something; later it may not be. */
const PASSING = ['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM'];

export const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '');

/** What to tell when an error of the system will pass; `undefined` when it will not. */
export const noRoom = (error: unknown): string | undefined =>
  PASSING.includes(codeOf(error))
    ? `The system has no room for another process (${codeOf(error)}). Try again later.`
    : undefined;
