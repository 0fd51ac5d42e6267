import { SealaneError } from '#domain';

import { StepConflict } from '../steps/step.ts';

const codeOf = (error: unknown): string => {
  const code = (error as { readonly code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : '';
};
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const LOST = /^(08...|25P0[34]|57P0[1-5]|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/;
const LOST_WORDS = /^(Connection terminated|Client (has encountered|was closed))/;

/** The server did not answer a statement or a new connection in time. The connection is closed then. */
const isOverdue = (error: unknown): boolean =>
  /^(Query read timeout|Connection terminated due to connection timeout)$/.test(messageOf(error));

/** The connection to the server is lost: by the network, by a shutdown of the server, or by an administrator. */
export const isConnectionLost = (error: unknown): boolean =>
  LOST.test(codeOf(error)) || (codeOf(error) === '' && (LOST_WORDS.test(messageOf(error)) || isOverdue(error)));

/**
 * True: a retry on another connection may succeed. This one is lost, or it remembers a statement whose table has
 * changed, or a pooler has dropped its statements, or its server has become a read-only replica.
 */
export const isConnectionSpent = (error: unknown): boolean =>
  isConnectionLost(error) || /^(0A000|26000|25006)$/.test(codeOf(error));

/**
 * A retry may succeed after our own conflict, a unique violation, a serialization failure or a deadlock. It may also
 * succeed when the server has no connection left, because one of ours may be free soon.
 */
export const isWorthRepeating = (error: unknown): boolean =>
  error instanceof StepConflict ||
  /^(23505|40001|40P01|53300)$/.test(codeOf(error)) ||
  // Before the COMMIT is sent, nothing is written. So a lost connection only means a retry on another one.
  (isConnectionSpent(error) && !isOverdue(error));

/** The server has no connection left for us. */
export const isCrowded = (error: unknown): boolean => codeOf(error) === '53300';

export const outcomeUnknown = (cause: unknown): SealaneError =>
  new SealaneError(
    'unavailable',
    'The connection to PostgreSQL was lost during a commit, so this change may or may not be stored. Look before you repeat it.',
    { cause, retryAfterMs: 1000, facts: { outcome: 'unknown' } },
  );

/** True: the change may have been committed, so only the caller can decide whether to repeat it. */
export const isOutcomeUnknown = (error: unknown): boolean =>
  error instanceof SealaneError && error.facts['outcome'] === 'unknown';

/** An SQLSTATE about a database, a server or an administrator, and not about the statement and its values. */
const isInTheWay = (error: unknown): boolean => /^(53|55|57|58|F0|XX)...$/.test(codeOf(error));

const isDistrusted = (error: Error): boolean => /CERT|UNABLE_TO_|^ERR_TLS/.test(codeOf(error));

/** Turns an error of PostgreSQL into one that tells what to do. `place` names the database without its credentials. */
export const postgresError = (error: unknown, place: string): unknown => {
  if (error instanceof SealaneError || !(error instanceof Error)) return error;
  const said = error.message;
  const unwritable = (what: string): SealaneError =>
    new SealaneError('store-unwritable', `${what} (${said})`, { cause: error });
  const unavailable = (what: string): SealaneError =>
    new SealaneError('unavailable', `${what} (${said || codeOf(error)})`, {
      cause: error,
      retryAfterMs: 1000,
      forCallers: 'The database of this service cannot do this now. Try again in a moment.',
    });
  switch (codeOf(error)) {
    case '28P01':
    case '28000':
      // A server that accepts only TLS has no better code for that.
      if (said.includes('no encryption'))
        return unwritable(
          `${place} refuses this user, or a connection without TLS. For TLS, add ?sslmode=verify-full to --store, and ` +
            '&sslrootcert=FILE if its authority is not a public one; else check the name, and pg_hba.conf on the server.',
        );
      return unwritable(
        `${place} refuses this user. Check the name and the password in --store, and pg_hba.conf on the server.`,
      );
    case '3D000':
      return unwritable(`${place} does not exist. Make it with CREATE DATABASE, or name another in --store.`);
    case '3F000':
    case '42501':
      return unwritable(
        `${place} does not let this user do that. Grant it CREATE on the database, or ownership of the schema.`,
      );
    case '25006':
      return unwritable(`${place} is read-only, perhaps a replica. Name the primary in --store.`);
    case '42P01':
    case '42703':
    case '42883':
      return unwritable(
        `A table, column or function of Sealane is missing in ${place}. Has another program changed the schema, or is ` +
          'there a pooler that does not keep sessions apart (set it to session mode)?',
      );
    case '42P05':
    case '26000':
      return unwritable(
        `Between Sealane and ${place} is a pooler that does not keep sessions apart. Set it to session mode ` +
          '(`pool_mode = session` in PgBouncer), or name the server itself in --store.',
      );
    case '53100':
      return new SealaneError(
        'storage-full',
        `The disk of ${place} is full (${said}). Free some space: nothing accepted is lost, reads and cancels go on, ` +
          'new tasks are refused until there is room.',
        {
          cause: error,
          retryAfterMs: 30_000,
          forCallers:
            'The disk of this service is full, so it takes no new tasks until there is room. Nothing accepted is lost; ' +
            'reads and cancels go on.',
        },
      );
    case '55P03':
      return unavailable(
        `Another client holds a lock in ${place}: an instance that migrates, or a client that has not ended its transaction.`,
      );
    case '57014':
      return unavailable(`${place} did not execute a statement in time, or an administrator canceled it.`);
    case '53300':
      return unavailable(`${place} has no connection left. Raise its max_connections, or run fewer instances.`);
    case '22021':
      return new SealaneError(
        'invalid-params',
        'A name or an id contains the character NUL, which cannot be stored. Leave it out.',
        { cause: error },
      );
    case 'ECONNREFUSED':
    case 'ENOENT':
    case 'EACCES':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case '57P03':
      return unavailable(
        `${place} does not answer. Check that the server runs and that --store names its host and port.`,
      );
    default:
      if (said.startsWith('SASL')) return unwritable(`${place} asks for a password that --store does not give.`);
      if (said.includes('not support SSL'))
        return unwritable(`${place} speaks no TLS. Switch it on there, or take sslmode out of --store.`);
      if (isDistrusted(error))
        return unwritable(
          `The certificate of ${place} is not trusted here. In --store, name its authority with sslrootcert=FILE, and the host as it does.`,
        );
      if (said.startsWith('timeout exceeded'))
        return unavailable(`All connections to ${place} are busy: it does not answer, or a client there holds a lock.`);
      if (isConnectionLost(error) || /timeout|SSL/.test(said)) return unavailable(`${place} cannot be reached.`);
      return isInTheWay(error)
        ? unavailable(`${place} cannot execute this now. Look into the log of the server.`)
        : error;
  }
};

/** The step lost too many races in a row. */
export const tooManyConflicts = (step: string, times: number, cause: unknown): SealaneError =>
  new SealaneError(
    'unavailable',
    `The step \`${step}\` met another writer ${times} times in a row. Try again in a moment.`,
    {
      cause,
      retryAfterMs: 1000,
    },
  );
