import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

import { type A2aClient, createA2aClient } from './a2a-client.ts';
import { ADMIN_KEY } from './service.ts';

/** A running `measured-service.ts`. */
export interface MeasuredProcess extends AsyncDisposable {
  readonly url: string;
  /** Where it listens for gRPC, if it was asked to. */
  readonly grpc: string;
  readonly client: A2aClient;
  /** Bytes in use after everything else has been let go. */
  memory(): Promise<number>;
}

export const startMeasured = async (folder: string, binding: 'http' | 'grpc' = 'http'): Promise<MeasuredProcess> => {
  const child: ChildProcess = fork(
    join(import.meta.dirname, 'measured-service.ts'),
    [join(folder, 'tasks.db'), binding],
    {
      execArgv: ['--expose-gc', '--conditions=sealane:source', '--disable-warning=ExperimentalWarning'],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    },
  );
  const [{ url, grpc }] = (await once(child, 'message')) as [{ url: string; grpc: string }];
  return {
    url,
    grpc,
    client: createA2aClient({ url, key: ADMIN_KEY }),
    memory: async () => {
      child.send('how much?');
      const [{ bytes }] = (await once(child, 'message')) as [{ bytes: number }];
      return bytes;
    },
    [Symbol.asyncDispose]: async () => {
      const gone = once(child, 'exit');
      child.disconnect();
      await gone;
    },
  };
};
