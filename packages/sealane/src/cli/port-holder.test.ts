import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

import { expect, it } from 'vitest';

import { findPortHolder } from './port-holder.ts';

it.runIf(process.platform === 'linux')('a port is held by a program with a name that people know', async () => {
  await using server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  expect(findPortHolder(port)).toBe(`node (process ${process.pid})`);
});
