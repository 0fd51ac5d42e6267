import { type Caller, createEchoAgent, createSealane, type Sealane, type SealaneOptions } from 'sealane';

import { type A2aClient, createA2aClient } from './a2a-client.ts';
import { type AdminClient, createAdminClient } from './admin-client.ts';

export const ADMIN_KEY = 'the-admin-key';

/** A service inside the test's process that listens on a port of its own. */
export interface TestService extends AsyncDisposable {
  readonly sealane: Sealane;
  readonly url: string;
  readonly admin: AdminClient;
  /** A client of the operator, who is an owner like any other. */
  readonly client: A2aClient;
  /** A client of somebody else, with a key made by the admin API. */
  clientOf(owner: string, key?: object): Promise<A2aClient>;
  /** The operator as callers in the same process name it. */
  readonly caller: Caller;
  close(): Promise<void>;
}

/** In memory, with the echo agent and short goodbyes, unless told otherwise. */
export const openService = async (options: Partial<SealaneOptions> = {}): Promise<TestService> => {
  const sealane = await createSealane({
    store: 'memory',
    agents: { echo: { connector: createEchoAgent(), default: true, public: true, concurrency: 256 } },
    adminKey: ADMIN_KEY,
    ratePerMinute: 1_000_000,
    ...options,
    // Nothing may depend on the slow look behind lost hints: in one process no hint is lost.
    settings: { drainMs: 0, cancelGraceMs: 2000, pollMs: 60_000, ...options.settings },
  });
  const url = await sealane.app.listen({ host: '127.0.0.1', port: 0 });
  const admin = createAdminClient(url, ADMIN_KEY);
  const client = createA2aClient({ url, key: ADMIN_KEY });
  const caller = await sealane.keys.authenticate(`Bearer ${ADMIN_KEY}`);
  if (!caller) throw new Error('The admin key does not work.');
  let keys = 0;
  return {
    sealane,
    caller,
    url,
    admin,
    client,
    clientOf: async (owner, key = {}) => {
      keys += 1;
      const made = await admin.post<{ key: string }>('/keys', { name: `${owner}-${keys}`, owner, ...key });
      return client.with({ key: made.key });
    },
    close: () => sealane.close(),
    [Symbol.asyncDispose]: () => sealane.close(),
  };
};
