import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';

import { SealaneError } from '#domain';

import { forwardedOf } from './forwarded.ts';
import type { HttpOptions } from './http-deps.ts';
import { blockListOf } from './proxy-trust.ts';

export interface OriginGuard {
  /**
   * Refuses what a web page of somebody else could have sent: a foreign name in Host (DNS rebinding) or a foreign
   * Origin. A host that a trusted proxy reports must be one of ours, too. Answers the origin that must be named in CORS headers, if the caller is a page we allow.
   */
  check(request: IncomingMessage): string | undefined;
}

/** Verdicts that are remembered; a caller sends the same Host on every request. */
const PASSED_CAPACITY = 256;

export const createOriginGuard = ({
  host,
  publicUrl,
  allowedHosts,
  allowedOrigins,
  trustedProxies,
}: Pick<HttpOptions, 'host' | 'publicUrl' | 'allowedHosts' | 'allowedOrigins' | 'trustedProxies'>): OriginGuard => {
  // A list that cannot be read is refused at the start, not at the first request.
  blockListOf(trustedProxies);
  const publicOrigin = publicUrl === undefined ? undefined : new URL(publicUrl);
  const hosts = new Set([
    ...(allowedHosts === 'any' ? [] : allowedHosts.map(hostnameOf)),
    hostnameOf(isIP(host) === 6 ? `[${host}]` : host),
    ...(publicOrigin ? [hostnameOf(publicOrigin.host)] : []),
  ]);
  const origins = new Set([...allowedOrigins.map(originOf), ...(publicOrigin ? [publicOrigin.origin] : [])]);
  const isWildcard = host === '0.0.0.0' || host === '::';
  const passed = new Set<string>();

  const isAllowedHost = (header: string): boolean => {
    if (allowedHosts === 'any' || passed.has(header)) return true;
    const name = hostnameOf(header);
    // Rebinding needs a name; whoever wrote our number into the address bar meant us.
    const isAllowed = isLoopback(name) || hosts.has(name) || (isWildcard && isIP(name) !== 0);
    if (isAllowed && passed.size < PASSED_CAPACITY) passed.add(header);
    return isAllowed;
  };

  return {
    check: (request) => {
      const { headers } = request;
      const told = forwardedOf(request, trustedProxies).host;
      // Only HTTP/1.0 comes without Host, and no browser speaks that any more.
      for (const name of [headers.host, told]) {
        if (name === undefined || isAllowedHost(name)) continue;
        throw new SealaneError(
          'forbidden',
          `This service does not answer to the host "${name.slice(0, 100)}". Its operator can allow it with allowedHosts or publicUrl.`,
        );
      }
      const { origin } = headers;
      if (origin === undefined) return undefined;
      if (origins.has(origin)) return origin;
      // A page that this very service has sent.
      if (URL.canParse(origin) && [headers.host?.toLowerCase(), told].includes(new URL(origin).host)) return undefined;
      throw new SealaneError(
        'forbidden',
        `Web pages of "${origin.slice(0, 100)}" may not call this service. Its operator can allow them with allowedOrigins.`,
      );
    },
  };
};

/** An origin as browsers write it: without a slash, without the usual port, in lower case. Others stay as they are. */
const originOf = (text: string): string => {
  const origin = URL.canParse(text) ? new URL(text).origin : 'null';
  return origin === 'null' ? text : origin;
};

/** The name in a Host header, without port and brackets, in lower case. */
export const hostnameOf = (header: string): string => {
  const text = header.trim().toLowerCase();
  if (text.startsWith('[')) return text.slice(1, Math.max(1, text.indexOf(']')));
  const name = text.replace(/:\d*$/, '');
  return name.endsWith('.') ? name.slice(0, -1) : name;
};

export const isLoopback = (name: string): boolean => {
  const address = name.startsWith('::ffff:') ? name.slice(7) : name;
  return address === 'localhost' || address === '::1' || (isIP(address) === 4 && address.startsWith('127.'));
};
