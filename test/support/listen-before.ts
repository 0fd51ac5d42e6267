import { once } from 'node:events';
import type { Server } from 'node:net';

/** Lets a proxy listen on a port of its own, and answers the address that leads to the same place through it. */
export const listenBefore = async (url: string, proxy: Server): Promise<string> => {
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const address = proxy.address();
  const proxied = new URL(url);
  proxied.hostname = '127.0.0.1';
  proxied.port = String(typeof address === 'object' && address ? address.port : '');
  return proxied.href;
};
