import { BlockList, isIP } from 'node:net';

import { SealaneError } from '#domain';

/** Built once for each list of settings, and asked on every request. */
const lists = new WeakMap<readonly string[], BlockList>();

/** Whether the peer of a connection is one of the proxies whose word counts. */
export const isTrustedProxy = (address: string | undefined, trusted: readonly string[]): boolean => {
  if (address === undefined || trusted.length === 0) return false;
  let list = lists.get(trusted);
  if (list === undefined) {
    list = blockListOf(trusted);
    lists.set(trusted, list);
  }
  const family = isIP(address);
  return family !== 0 && list.check(address, family === 4 ? 'ipv4' : 'ipv6');
};

/** Addresses, ranges like `10.0.0.0/8`, and the word `loopback`. */
export const blockListOf = (trusted: readonly string[]): BlockList => {
  const list = new BlockList();
  for (const entry of trusted) {
    if (entry === 'loopback') {
      list.addSubnet('127.0.0.0', 8, 'ipv4');
      list.addAddress('::1', 'ipv6');
      continue;
    }
    const [address = '', bits] = entry.split('/');
    const family = isIP(address) === 4 ? 'ipv4' : 'ipv6';
    try {
      if (bits === undefined) list.addAddress(address, family);
      else list.addSubnet(address, /^\d{1,3}$/.test(bits) ? Number(bits) : -1, family);
    } catch (error) {
      throw new SealaneError(
        'bad-config',
        `trustedProxies names "${entry}": write an address, a range like 10.0.0.0/8, or loopback.`,
        { cause: error },
      );
    }
  }
  return list;
};
