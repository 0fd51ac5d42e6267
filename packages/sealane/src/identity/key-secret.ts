import { hash, randomBytes } from 'node:crypto';

const SECRET_BYTES = 24;

/** A new key: 192 random bits, marked so that people and secret scanners recognise it. */
export const createKeySecret = (random: (bytes: number) => Buffer = randomBytes): string =>
  `sl_${random(SECRET_BYTES).toString('base64url')}`;

/** What is stored of a key. A plain hash is enough: nobody guesses 192 random bits, so there is nothing to slow down. */
export const hashKeySecret = (secret: string): string => hash('sha256', secret, 'hex');

/** The credential of an `Authorization: Bearer …` header. */
export const findBearer = (header: string | undefined): string | undefined => {
  // The longest key worth hashing: an operator's own admin key may be any text.
  if (header === undefined || header.length > 1024) return undefined;
  if (header.charCodeAt(6) !== 0x20 || header.slice(0, 6).toLowerCase() !== 'bearer') return undefined;
  const secret = header.slice(7).trim();
  return secret === '' ? undefined : secret;
};
