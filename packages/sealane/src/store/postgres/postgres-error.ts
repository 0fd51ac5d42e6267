import { SealaneError } from '#domain';

import { StepConflict } from '../steps/step.ts';

const codeOf = (error: unknown): string => {
  const code = (error as { readonly code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : '';
};
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const LOST = /^(08...|25P03|57P0[1-5]|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/;
const LOST_WORDS = /^(Connection terminated|Client (has encountered|was closed))/;

/** The server did not answer a statement in time; the connection is closed then. */
const isOverdue = (error: unknown): boolean => messageOf(error) === 'Query read timeout';

/** The way to the server is gone: by the network, by its shutdown, by an administrator. */
export const isConnectionLost = (error: unknown): boolean =>
  LOST.test(codeOf(error)) || (codeOf(error) === '' && (LOST_WORDS.test(messageOf(error)) || isOverdue(error)));

/**
 * True: another connection may do better. Either this one is lost, or it remembers a statement whose table has changed
 * since, or a pooler has dropped its statements, or its server has become a read-only replica.
 */
export const isConnectionSpent = (error: unknown): boolean =>
  isConnectionLost(error) || /^(0A000|26000|25006)$/.test(codeOf(error));

/** A race that is won by starting again: our own conflict, a unique violation, a serialization failure, a deadlock. */
export const isWorthRepeating = (error: unknown): boolean =>
  error instanceof StepConflict ||
  /^(23505|40001|40P01)$/.test(codeOf(error)) ||
  // Before the COMMIT was sent nothing has happened, so a lost connection is no more than a reason to take another.
  (isConnectionSpent(error) && !isOverdue(error));

export const outcomeUnknown = (cause: unknown): SealaneError =>
  new SealaneError(
    'unavailable',
    'The connection to PostgreSQL was lost during a commit, so this change may or may not be stored. Look before you repeat it.',
    { cause, retryAfterMs: 1000, facts: { outcome: 'unknown' } },
  );

/** True: it may have been committed, so nobody but the caller can say whether to do it again. */
export const isOutcomeUnknown = (error: unknown): boolean =>
  error instanceof SealaneError && error.facts['outcome'] === 'unknown';

/** What PostgreSQL says, in words that tell what to do. `place` names the database without its credentials. */
export const postgresError = (error: unknown, place: string): unknown => {
  if (error instanceof SealaneError || !(error instanceof Error)) return error;
  const said = error.message;
  const unwritable = (what: string): SealaneError =>
    new SealaneError('store-unwritable', `${what} (${said})`, { cause: error });
  const unavailable = (what: string): SealaneError =>
    new SealaneError('unavailable', `${what} (${said || codeOf(error)})`, { cause: error, retryAfterMs: 1000 });
  switch (codeOf(error)) {
    case '28P01':
    case '28000':
      return unwritable(
        `${place} refuses this user. Check the name and the password in --store, and pg_hba.conf on the server.`,
      );
    case '3D000':
      return unwritable(`${place} does not exist. Make it with CREATE DATABASE, or name another in --store.`);
    case '42501':
      return unwritable(
        `${place} does not let this user do that. Grant it CREATE on the database, or ownership of the schema.`,
      );
    case '25006':
      return unwritable(`${place} is read-only, perhaps a replica. Name the primary in --store.`);
    case '53100':
      return new SealaneError(
        'storage-full',
        `The disk of ${place} is full (${said}). Free some space: nothing accepted is lost, reads and cancels go on, ` +
          'new tasks are refused until there is room.',
        { cause: error, retryAfterMs: 30_000 },
      );
    case '53300':
      return unavailable(`${place} has no connection left. Raise its max_connections, or run fewer instances.`);
    case '22021':
      return new SealaneError(
        'invalid-params',
        'A name or an id contains the character NUL, which cannot be stored. Leave it out.',
        { cause: error },
      );
    case 'ECONNREFUSED':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case '57P03':
      return unavailable(
        `${place} does not answer. Check that the server runs and that --store names its host and port.`,
      );
    default:
      if (said.startsWith('SASL')) return unwritable(`${place} asks for a password that --store does not give.`);
      if (isConnectionLost(error) || /timeout|SSL/.test(said)) return unavailable(`${place} cannot be reached.`);
      return error;
  }
};

/** The same step met another writer too often. */
export const tooManyConflicts = (step: string, times: number, cause: unknown): SealaneError =>
  new SealaneError(
    'unavailable',
    `The step \`${step}\` met another writer ${times} times in a row. Try again in a moment.`,
    {
      cause,
      retryAfterMs: 1000,
    },
  );
