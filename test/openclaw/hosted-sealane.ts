import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { type A2aClient, createA2aClient } from '../support/a2a-client.ts';
import { type AdminClient, createAdminClient } from '../support/admin-client.ts';
import { ADMIN_KEY } from '../support/service.ts';
import type { HostConfig } from './sealane-host.ts';

/** A service that can be killed. */
export interface HostedSealane extends AsyncDisposable {
  readonly client: A2aClient;
  readonly admin: AdminClient;
  /** SIGKILL. */
  kill(): Promise<void>;
}

const HOST = fileURLToPath(new URL('sealane-host.ts', import.meta.url));

export const hostSealane = async (config: Omit<HostConfig, 'adminKey'>): Promise<HostedSealane> => {
  const words = ['--conditions=sealane:source', HOST, JSON.stringify({ ...config, adminKey: ADMIN_KEY })];
  const child = spawn(process.execPath, words, { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  let output = '';
  child.stdout.setEncoding('utf8');
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (text: string) => {
      output += text;
      const [, found] = /^ready (\S+)$/m.exec(output) ?? [];
      if (found !== undefined) resolve(found);
    });
    void ended.then(() => reject(new Error(`The service ended before it was ready: ${output}`)));
  });
  const kill = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await ended;
  };
  return {
    client: createA2aClient({ url, key: ADMIN_KEY }),
    admin: createAdminClient(url, ADMIN_KEY),
    kill,
    [Symbol.asyncDispose]: kill,
  };
};
