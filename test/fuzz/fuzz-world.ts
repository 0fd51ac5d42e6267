import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

import { pino } from 'pino';
import { createEchoAgent } from 'sealane';

import type { Storage } from '#store';

import type { WireTask } from '../support/a2a-client.ts';
import { eventually } from '../support/eventually.ts';
import { freshFolder } from '../support/served-process.ts';
import { openService, type TestService } from '../support/service.ts';
import type { FuzzNames } from './draw.ts';
import { createOtherOwner, type OtherOwner } from './other-owner.ts';

/** A running service, the caller that is let loose on it, and the one who must not notice. */
export interface FuzzWorld extends AsyncDisposable {
  readonly service: TestService;
  readonly grpcAddress: string;
  readonly key: string;
  readonly names: FuzzNames;
  readonly other: OtherOwner;
  /** What the service itself called an error, and promises that nobody caught. */
  readonly problems: readonly string[];
  openStreams(): Promise<number>;
  /** How often a webhook was called. */
  webhookCalls(): number;
}

const OWN_TASKS = 64;
const OWN_PAIRS = 8;

/** On any store; a file of its own unless told otherwise. */
export const openFuzzWorld = async (storage?: Storage): Promise<FuzzWorld> => {
  const folder = freshFolder();
  const problems: string[] = [];
  /** Texts that no log may hold, unless a request has made a name of them. */
  const unwritable = ['a-credential', 'a-token'];
  const log = pino(
    { level: 'debug' },
    {
      write: (line) => {
        const told = line.replaceAll(NAMED_SO, '');
        if (levelOf(line) >= ERROR || unwritable.some((text) => told.includes(text))) problems.push(line);
      },
    },
  );
  const onRejection = (reason: unknown): void => void problems.push(`unhandled rejection: ${String(reason)}`);
  process.on('unhandledRejection', onRejection);
  const hook = await openHook(problems);
  const service = await openService({
    store: storage ?? `sqlite:${folder.path}/fuzz.db`,
    log,
    agents: {
      // Nothing that is asked of this one may take long.
      echo: { connector: createEchoAgent(), default: true, public: true, concurrency: 256, taskTimeoutMs: 1000 },
      slow: { connector: createEchoAgent(), concurrency: 64 },
    },
    settings: { waitMs: 200, cancelGraceMs: 300 },
    http: { heartbeatMs: 500 },
    allowPrivateWebhooks: true,
    push: { graceMs: 100, timeoutMs: 1000 },
  });
  const other = await createOtherOwner(await service.clientOf('bob', { agents: ['slow'] }), hook.url);
  hook.watchFor(other);
  const { key } = await service.admin.post<{ key: string }>('/keys', {
    name: 'alice',
    owner: 'alice',
    agents: ['echo'],
    ratePerMinute: 100_000_000,
  });
  unwritable.push(key, other.secret);
  const names = await firstNames(service, key, other, hook.url);
  return {
    service,
    grpcAddress: await service.sealane.listenGrpc(),
    key,
    names,
    other,
    problems,
    webhookCalls: hook.count,
    openStreams: async () => {
      const text = await (await fetch(`${service.url}/metrics`)).text();
      return Number(/^sealane_streams (\d+)/m.exec(text)?.[1]);
    },
    [Symbol.asyncDispose]: async () => {
      process.off('unhandledRejection', onRejection);
      await service.close();
      await storage?.close();
      await hook.close();
      folder[Symbol.dispose]();
    },
  };
};

/** Values change places in requests: the token of a webhook may have become its id, and ids are logged. */
const NAMED_SO = /"(?!token"|credentials")\w+":"a-(credential|token)"/g;

/** Pino's number for it; `fatal` is above. */
const ERROR = 50;
const levelOf = (line: string): number => (JSON.parse(line) as { readonly level: number }).level;

/** A place that takes webhooks, and reads them. */
const openHook = async (problems: string[]) => {
  let watched: OtherOwner | undefined;
  let count = 0;
  const server = createServer((request, response) => {
    void buffer(request).then(
      (body) => {
        count += 1;
        const secret = watched?.secrets.findIn(body);
        // Those of the other owner are called with the secret in their address.
        if (secret !== undefined && !request.url?.includes(watched!.secret))
          problems.push(`a webhook tells what belongs to somebody else: ${secret}`);
        response.writeHead(204).end();
      },
      () => response.destroy(),
    );
  });
  server.listen(0, 'localhost');
  await once(server, 'listening');
  return {
    count: () => count,
    url: `http://localhost:${(server.address() as AddressInfo).port}/hook`,
    watchFor: (other: OtherOwner): void => {
      watched = other;
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};

const firstNames = async (
  { client }: TestService,
  key: string,
  { overheard }: OtherOwner,
  hookUrl: string,
): Promise<FuzzNames> => {
  const alice = client.with({ key });
  const submit = (count: number, text: string): Promise<readonly WireTask[]> =>
    Promise.all(Array.from({ length: count }, () => alice.submit(text)));
  const tasks = [...(await submit(OWN_TASKS / 2, 'hello')), ...(await submit(OWN_TASKS / 2, '@ask What?'))];
  const pairs = await Promise.all(
    (await submit(OWN_PAIRS, '@ask What?')).map(async ({ id }) => {
      await alice.call('CreateTaskPushNotificationConfig', { taskId: id, id: 'config-1', url: hookUrl });
      return [id, 'config-1'] as const;
    }),
  );
  await eventually(async () => {
    const { totalSize } = await alice.list({ status: 'TASK_STATE_COMPLETED' });
    if (totalSize < OWN_TASKS / 2) throw new Error(`Only ${totalSize} of the first tasks have ended.`);
  });
  return {
    own: tasks.map(({ id }) => id),
    given: Array.from({ length: 24 }, () => randomUUID()),
    ownContexts: tasks.slice(0, 16).map(({ contextId }) => contextId),
    ownPairs: pairs,
    ownConfigs: ['config-1', 'config-2', '', randomUUID()],
    foreign: overheard.tasks,
    foreignContexts: overheard.contexts,
    foreignConfigs: overheard.configs,
    hookUrl,
  };
};
