import { lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';

import { isPrivateAddress } from './private-address.ts';

/**
 * Decides which addresses may be called. What the address alone tells is checked when a webhook is saved. What its name
 * resolves to is checked at each call.
 */
export interface TargetGuard {
  /** Says what is wrong with an address, without resolving its name. */
  readonly check: (url: string) => string | undefined;
  /**
   * Resolves a name for one connection. The connection uses the addresses that were checked, so a name cannot change
   * its meaning in between (DNS rebinding).
   */
  readonly lookup: LookupFunction;
}

/** Thrown if a connection would lead inside this machine or its network. */
export class TargetRefused extends Error {
  override readonly name = 'TargetRefused';
}

const INSIDE = /^(localhost|.+\.(localhost|local|internal|home\.arpa))$/;

export const createTargetGuard = (options: {
  /** Lets webhooks lead to this machine and its network: for tests, and for networks that trust their callers. */
  readonly allowPrivate: boolean;
  /** Resolves names; by default the system's resolver. */
  readonly resolve?: typeof systemLookup;
}): TargetGuard => {
  const { allowPrivate, resolve = systemLookup } = options;
  const isInside = (host: string): boolean => (isIP(host) ? isPrivateAddress(host) : INSIDE.test(host));
  return {
    check: (url) => {
      const target = URL.canParse(url) ? new URL(url) : undefined;
      if (!target || (target.protocol !== 'http:' && target.protocol !== 'https:')) {
        return 'The address of a webhook must be an absolute http or https URL.';
      }
      const host = target.hostname.replace(/^\[|\]$|\.$/g, '').toLowerCase();
      if (allowPrivate || !isInside(host)) return undefined;
      return (
        `A webhook must not lead to "${host}", which is inside this machine or its network. Give an address that the ` +
        'public internet can reach, or start the service with --allow-private-webhooks.'
      );
    },
    lookup: (hostname, lookupOptions, callback) => {
      resolve(hostname, { ...lookupOptions, all: true }, (error, addresses) => {
        const [first] = addresses ?? [];
        if (error || !first) return callback(error ?? new Error(`${hostname} has no address.`), '', 0);
        // A single private address is enough to refuse a name: the next connection could use that address.
        if (!allowPrivate && addresses.some(({ address }) => isPrivateAddress(address))) {
          return callback(new TargetRefused(`${hostname} leads inside this machine or its network.`), '', 0);
        }
        if (lookupOptions.all) callback(null, addresses);
        else callback(null, first.address, first.family);
      });
    },
  };
};
