import type { IncomingMessage } from 'node:http';

import { isTrustedProxy } from './proxy-trust.ts';

/** What a proxy in front of us says about the request that it got. Each member is well formed, or not there. */
export interface Forwarded {
  readonly proto?: 'http' | 'https';
  /** A name or number, with its port if it has one. */
  readonly host?: string;
  /** Where the proxy has put us: a path without a slash at its end. */
  readonly prefix?: string;
}

const NOTHING: Forwarded = {};

/** The longest header that is looked at; what lies beyond was written to hurt. */
const MAX_LENGTH = 1024;

/**
 * Of several values the last counts, which our own proxy has added: those before it may come from anybody. `Forwarded`
 * and `X-Forwarded-*` must not contradict each other, since a proxy that writes one kind may pass the other on unseen.
 */
export const forwardedOf = ({ socket, headers }: IncomingMessage, trusted: readonly string[]): Forwarded => {
  if (!isTrustedProxy(socket.remoteAddress, trusted)) return NOTHING;
  const standard = readForwarded(lastOf(headers.forwarded));
  const proto = agreed(protoOf(standard.get('proto')), protoOf(lastOf(headers['x-forwarded-proto'])));
  const port = lastOf(headers['x-forwarded-port']);
  const usual = authorityOf(lastOf(headers['x-forwarded-host']));
  const host = agreed(authorityOf(standard.get('host')), usual && withPort(usual, port));
  const prefix = pathOf(lastOf(headers['x-forwarded-prefix']));
  return { ...(proto && { proto }), ...(host && { host }), ...(prefix && { prefix }) };
};

/** A host with an optional port, as it may stand in an address; undefined for anything else. */
export const authorityOf = (text: string | undefined): string | undefined =>
  text !== undefined &&
  text.length <= 262 &&
  /^(?:[a-z\d](?:[a-z\d._-]*[a-z\d])?\.?|\[[\da-f:.]+\])(?::\d{1,5})?$/i.test(text) &&
  URL.canParse(`http://${text}`)
    ? text.toLowerCase()
    : undefined;

const lastOf = (header: string | readonly string[] | undefined): string | undefined => {
  const text = typeof header === 'object' ? header.join(',') : header;
  return text === undefined || text.length > MAX_LENGTH ? undefined : text.slice(text.lastIndexOf(',') + 1).trim();
};

/** The pairs of one element of RFC 7239: `proto=https;host="a.example:8443"`. */
const readForwarded = (element: string | undefined): ReadonlyMap<string, string> =>
  new Map(
    (element ?? '').split(';').flatMap((pair) => {
      const [, name, quoted, plain] = /^\s*([\w-]+)=(?:"([^"\\]*)"|([^\s";,]+))\s*$/.exec(pair) ?? [];
      return name === undefined ? [] : [[name.toLowerCase(), quoted ?? plain ?? '']];
    }),
  );

const agreed = <T>(one: T | undefined, other: T | undefined): T | undefined =>
  one === undefined || other === undefined || one === other ? (one ?? other) : undefined;

const protoOf = (text: string | undefined): 'http' | 'https' | undefined => {
  const proto = text?.toLowerCase();
  return proto === 'http' || proto === 'https' ? proto : undefined;
};

const withPort = (host: string, port: string | undefined): string =>
  /:\d+$/.test(host) ? host : (authorityOf(`${host}:${port}`) ?? host);

/** Plain segments only: nothing that a reader of the address could take for something else. */
const pathOf = (text: string | undefined): string | undefined =>
  text !== undefined && text.length <= 200 && /^(?:\/(?!\.{1,2}(?:\/|$))[\w.~-]+)+\/?$/.test(text)
    ? text.replace(/\/$/, '')
    : undefined;
