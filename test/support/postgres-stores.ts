import { randomUUID } from 'node:crypto';

import { Client } from 'pg';
import { onTestFinished } from 'vitest';

import type { NewEvent } from '../../packages/sealane/src/domain/index.ts';
import type { Admission, Run, Storage, TaskId } from '../../packages/sealane/src/store/index.ts';
import { openPostgres, type PostgresStoreOptions } from '../../packages/sealane/src/store/postgres/index.ts';

/** A store that is closed when the test is over. */
export const open = async (options: PostgresStoreOptions): Promise<Storage> => {
  const storage = await openPostgres(options);
  onTestFinished(() => storage.close());
  return storage;
};

/** A connection beside the store's own, to look and to interfere. */
export const connectBeside = async (url: string): Promise<Client> => {
  const client = new Client(url);
  await client.connect();
  onTestFinished(() => client.end());
  return client;
};

export const admission = (more: Partial<Admission> = {}): Admission => {
  const id = randomUUID();
  return {
    id,
    contextId: id,
    owner: 'ann',
    tenant: '',
    agent: 'echo',
    dialect: '1.0',
    session: `session ${id}`,
    direct: false,
    message: { messageId: `m-${id}`, role: 'ROLE_USER', parts: [{ text: 'hello' }] },
    metadata: {},
    call: {},
    at: Date.now(),
    limits: { laneWaiting: 100, ownerWaiting: 0 },
    ...more,
  };
};

/** An instance with a lease that outlasts the test. */
export const withInstance = async ({ tasks }: Storage): Promise<string> => {
  const instance = randomUUID();
  await tasks.renew(instance, 600_000);
  return instance;
};

/** A run that has started at once; its last event is number 2. */
export const startRun = async ({ tasks }: Storage, instance: string, more: Partial<Admission> = {}): Promise<Run> => {
  const admitted = await tasks.admit(admission({ slot: { instance }, ...more }));
  if (!admitted.ok || !admitted.value.run) throw new Error(`It did not start: ${JSON.stringify(admitted)}`);
  return admitted.value.run;
};

export const chunk = (text: string): NewEvent => ({
  kind: 'artifact-added',
  artifact: { artifactId: 'a', parts: [{ text }] },
  append: true,
});
export const completed: NewEvent = { kind: 'turn-ended', state: 'completed' };

export const firstWake = (
  { tasks }: Storage,
  wanted: (ids: readonly TaskId[]) => boolean,
): Promise<readonly TaskId[]> =>
  new Promise((resolve) => {
    const subscription = tasks.onWake((ids) => {
      if (!wanted(ids)) return;
      subscription[Symbol.dispose]();
      resolve(ids);
    });
  });
