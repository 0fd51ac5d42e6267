import { randomBytes, randomUUID } from 'node:crypto';

import type { A2aClient, WireTask } from '../support/a2a-client.ts';
import type { Secrets } from './verdict.ts';

/** Somebody whose tasks are full of a word that nobody else may ever read. */
export interface OtherOwner {
  /** The word. */
  readonly secret: string;
  /** The word in all its forms, and ids that nobody overheard. */
  readonly secrets: Secrets;
  /** Ids that are used against it. */
  readonly overheard: {
    readonly tasks: readonly string[];
    readonly contexts: readonly string[];
    readonly configs: readonly string[];
  };
  /** Everything it can see of its tasks, as text. */
  snapshot(): Promise<string>;
}

const TEXTS = ['', '@ask ', '@auth ', '@fail ', '@reject ', '@sleep 3600000 ', '@data ', '@stream 5 0 '];
/** Tasks are made in pairs: one whose ids are overheard, and one of which nobody else knows. */
const PAIRS = 12;

export const createOtherOwner = async (client: A2aClient, hookUrl: string): Promise<OtherOwner> => {
  const secret = `secret-${randomBytes(12).toString('hex')}`;
  const raw = Buffer.from(secret).toString('base64');

  const create = async (number: number): Promise<WireTask & { readonly config: string }> => {
    const task = await client.submit('', {
      contextId: randomUUID(),
      metadata: { note: secret, executor: 'slow' },
      parts: [
        { text: `${TEXTS[number % TEXTS.length]}${secret}` },
        { data: { [secret]: secret } },
        { raw, filename: `${secret}.txt` },
      ],
    });
    const config = randomUUID();
    await client.call('CreateTaskPushNotificationConfig', {
      taskId: task.id,
      id: config,
      url: `${hookUrl}/${secret}`,
      token: secret,
      authentication: { scheme: 'Bearer', credentials: secret },
    });
    return { ...task, config };
  };
  const createAll = (): Promise<readonly (WireTask & { readonly config: string })[]> =>
    Promise.all(Array.from({ length: PAIRS }, (_, number) => create(number)));
  const [known, hidden] = [await createAll(), await createAll()];
  const forbidden = [secret, raw, ...hidden.flatMap(({ id, contextId, config }) => [id, contextId, config])];

  return {
    secret,
    secrets: { findIn: (bytes) => forbidden.find((text) => bytes.includes(text)) },
    overheard: {
      tasks: known.map(({ id }) => id),
      contexts: known.map(({ contextId }) => contextId),
      configs: known.map(({ config }) => config),
    },
    snapshot: async () => {
      const { tasks, totalSize } = await client.list({ pageSize: 100, includeArtifacts: true, historyLength: 100 });
      const each = await Promise.all(
        tasks.map(async ({ id }) => [
          await client.get(id),
          await client.call('tasks/events', { id, limit: 1000 }),
          await client.call('ListTaskPushNotificationConfigs', { taskId: id }),
        ]),
      );
      return JSON.stringify({ totalSize, tasks, each });
    },
  };
};
