import { openSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { expect, test, vi } from 'vitest';

import { setUpCli, startService } from '../cli-harness.fixture.ts';

const BIN = fileURLToPath(new URL('../../../bin/sealane.mjs', import.meta.url));

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
};

test('a service whose ready line was read by nobody, or by somebody who left, goes on', async () => {
  using cli = setUpCli();
  const port = await freePort();
  const { child, done } = cli.start(['serve', '--port', String(port)]);
  child.stdout?.destroy();
  const url = `http://127.0.0.1:${port}`;
  await vi.waitFor(async () => expect((await fetch(`${url}/readyz`)).ok).toBe(true), { timeout: 20_000 });
  expect(await cli.run(['send', 'still there?', '--url', url])).toMatchObject({ code: 0, stdout: 'still there?\n' });
  child.kill('SIGTERM');
  expect(await done).toMatchObject({ code: 0 });
});

test('a service whose log nobody reads any more lets its runs end when it is stopped', async () => {
  using cli = setUpCli();
  const { child, done, url } = await startService(cli);
  const sent = cli.start(['send', '@stream 10 100', '--url', url]);
  await sent.saw('chunk 1 of 10');
  child.stderr?.destroy();
  child.kill('SIGTERM');
  expect(await sent.done).toMatchObject({ code: 0, stdout: expect.stringContaining('chunk 10 of 10') });
  expect(await done).toMatchObject({ code: 0 });
});

test.runIf(process.platform === 'linux')('a result that cannot be written is told, without a stack', () => {
  using cli = setUpCli();
  const { status, stderr } = spawnSync(process.execPath, [BIN, '--json', 'config', 'schema'], {
    cwd: cli.home,
    env: { ...process.env, HOME: cli.home },
    stdio: ['ignore', openSync('/dev/full', 'w'), 'pipe'],
    encoding: 'utf8',
  });
  expect(status).toBe(1);
  expect(JSON.parse(stderr)).toMatchObject({
    error: { code: 'storage-full', message: 'Standard output cannot be written (ENOSPC).' },
  });
});
