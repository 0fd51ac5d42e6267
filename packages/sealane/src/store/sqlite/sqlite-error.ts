import { SealaneError } from '#domain';

export const damaged = (file: string, detail: string, cause?: unknown): SealaneError =>
  new SealaneError(
    'store-damaged',
    `The database ${file} is damaged (${detail}). Keep a copy of it, then restore a backup with \`sealane restore FILE\`, ` +
      'or start with an empty folder by --data-dir. Nothing was changed.',
    { cause },
  );

const unwritable = (file: string, cause: Error): SealaneError =>
  new SealaneError(
    'store-unwritable',
    `Sealane cannot write ${file} (${cause.message}). Make the folder and the files in it writable for this user, or ` +
      'choose another with --data-dir.',
    { cause },
  );

const full = (cause: Error): SealaneError =>
  new SealaneError(
    'storage-full',
    'The disk of this service is full or failing, so this could not be written. Nothing accepted is lost: ' +
      'free some space and try again.',
    { cause, retryAfterMs: 30_000 },
  );

const errcodeOf = (error: unknown): number => (error as { readonly errcode?: number } | undefined)?.errcode ?? 0;

/** True: another process holds a lock that SQLite needed. Nothing was done. */
export const isLockedOut = (error: unknown): boolean =>
  error instanceof Error && [5 /* BUSY */, 6 /* LOCKED */].includes(errcodeOf(error) & 0xff);

/** The same about a store that is open: the other process may release the lock at any moment. */
export const lockedMeanwhile = (file: string, cause: unknown): SealaneError =>
  new SealaneError(
    'unavailable',
    `Another process holds the write lock of ${file}, so this could not be written. Sealane retries the writes of ` +
      'running tasks; send everything else again. If that process does not end by itself, find it and end it.',
    {
      cause,
      retryAfterMs: 1000,
      facts: { lock: 'taken' },
      forCallers: 'The database of this service is locked by another program. Try again in a moment.',
    },
  );

/** Turns an error of SQLite, or of the system about the files beside the database, into one that tells what to do. */
export const sqliteError = (error: unknown, file: string): unknown => {
  if (error instanceof SealaneError || !(error instanceof Error)) return error;
  const { code, path = file }: NodeJS.ErrnoException = error;
  switch (code ?? '') {
    case 'ENOSPC':
    case 'EDQUOT':
      return full(error);
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return unwritable(path, error);
    case 'EMFILE':
    case 'ENFILE':
      return new SealaneError(
        'store-unwritable',
        `Sealane cannot open ${path}: too many files are open. Start it with a higher limit (ulimit -n).`,
        { cause: error },
      );
    default:
  }
  if (isLockedOut(error)) {
    return new SealaneError(
      'store-locked',
      `Another process is using ${file}. Stop it first, or choose another folder with --data-dir.`,
      { cause: error },
    );
  }
  switch (errcodeOf(error) & 0xff) {
    case 8: // READONLY
    case 14: // CANTOPEN
      return unwritable(file, error);
    case 10: // IOERR
    case 13: // FULL
      return full(error);
    case 11: // CORRUPT
    case 26: // NOTADB
      return damaged(file, error.message, error);
    default:
      return error;
  }
};
