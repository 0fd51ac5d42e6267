import { createPrivateKey, generateKeyPairSync, hash, type JsonWebKey, type KeyObject, sign } from 'node:crypto';

import type { CardKeyRecord } from '#store';

/** A signature as a card carries it: a JWS whose payload is the card itself. */
export interface CardSignature {
  readonly protected: string;
  readonly signature: string;
}

/** The keys as they are at one moment. */
export interface KeyRing {
  /** Differs when the signatures would. */
  readonly id: string;
  /** Since when cards are signed like this, in epoch milliseconds. */
  readonly since: number;
  /** A signature of each signing key, the one in use first. `jku` is where verifiers find the public keys. */
  readonly sign: (payload: string, jku: string) => readonly CardSignature[];
  /** The public keys as JSON text. */
  readonly jwks: string;
}

/**
 * A retired key signs along for a day, so that a reader whose copy of the public keys is older than a new key finds a
 * signature that it can check, and stays among the public keys for a week, for cards that somebody has kept.
 */
export const SIGN_ALONG_MS = 24 * 3600 * 1000;
export const PUBLISH_MS = 7 * SIGN_ALONG_MS;

/** The keys must be the newest first. Node's own crypto does all of it: a JOSE library would cost 12 MB of memory. */
export const createKeyRing = (records: readonly CardKeyRecord[], now: number): KeyRing => {
  const isYounger = ({ retiredAt }: CardKeyRecord, ageMs: number) => retiredAt === null || retiredAt > now - ageMs;
  const signing = records.filter((record) => isYounger(record, SIGN_ALONG_MS)).slice(0, 2);
  const signers = signing.map(({ kid, privateJwk }) => ({
    kid,
    key: createPrivateKey({ key: JSON.parse(privateJwk) as JsonWebKey, format: 'jwk' }),
  }));
  const published = records.filter((record) => isYounger(record, PUBLISH_MS));
  return {
    id: signers.map(({ kid }) => kid).join(' '),
    since: signing[0]?.createdAt ?? 0,
    sign: (payload, jku) => {
      const encoded = encode(payload);
      return signers.map(({ kid, key }) => signatureOf(encoded, { alg: 'ES256', kid, typ: 'JOSE', jku }, key));
    },
    jwks: JSON.stringify({ keys: published.map(publicJwkOf) }),
  };
};

/** Its id is the thumbprint of RFC 7638, so it is the same wherever the key turns up. */
export const createCardKey = (now: number): CardKeyRecord => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { kty, crv, x, y, d } = privateKey.export({ format: 'jwk' });
  return {
    kid: hash('sha256', JSON.stringify({ crv, kty, x, y }), 'base64url'),
    privateJwk: JSON.stringify({ kty, crv, x, y, d }),
    createdAt: now,
    retiredAt: null,
  };
};

const encode = (text: string): string => Buffer.from(text).toString('base64url');

/** The input of the signature is protected header and payload, each in base64url, as RFC 7515 wants it. */
const signatureOf = (payload: string, header: object, key: KeyObject): CardSignature => {
  const head = encode(JSON.stringify(header));
  const signature = sign('sha256', Buffer.from(`${head}.${payload}`), { key, dsaEncoding: 'ieee-p1363' });
  return { protected: head, signature: signature.toString('base64url') };
};

const publicJwkOf = ({ kid, privateJwk }: CardKeyRecord): object => {
  const { kty, crv, x, y } = JSON.parse(privateJwk) as JsonWebKey;
  return { kty, crv, x, y, kid, alg: 'ES256', use: 'sig' };
};
