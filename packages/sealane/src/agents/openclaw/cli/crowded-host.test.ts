import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { expect, it } from 'vitest';

const HOST = fileURLToPath(new URL('crowded-host.fixture.ts', import.meta.url));

it('a long message may be tried again when there was no room to hand it over', async () => {
  const words = ['-c', 'ulimit -n 256; exec "$@"', 'sh', process.execPath, '--conditions=sealane:source', HOST];
  const { stdout } = await promisify(execFile)('sh', words, { timeout: 50_000 });
  expect(JSON.parse(stdout)).toEqual({
    state: 'failed',
    retryable: true,
    text: 'The system has no room for another process (EMFILE). Try again later.',
  });
});
