import { SealaneError } from '#domain';
import type { NewWebhook, PushConfigRecord, PushConfigStore, Refused, Scope } from '#store';

import { refusalOf } from './refusals.ts';
import type { Caller, NewPushConfig, PushConfig, PushConfigs } from './task-service.ts';

/** The most webhooks of one task: enough for all receivers, and too few to turn one task into a storm of requests. */
const MAX_WEBHOOKS = 20;

/** Says why an address must not be called, as far as the address alone can tell. */
export type CheckWebhook = (url: string) => string | undefined;

/** Makes a caller's webhook into one that the store keeps. Refuses an address that must not be called. */
export const createWebhookOf =
  (newId: () => string, checkWebhook: CheckWebhook) =>
  ({ id, ...config }: NewPushConfig, taskId: string): NewWebhook => {
    const problem = checkWebhook(config.url);
    if (problem !== undefined) throw new SealaneError('invalid-params', problem, { facts: { field: 'url' } });
    // Before 1.0, a webhook without an id is the only one of its task, and its id is the id of the task.
    return { id: id ?? (config.dialect === '1.0' ? newId() : taskId), config, limit: MAX_WEBHOOKS };
  };

export const pushConfigOf = ({ id, config }: Pick<PushConfigRecord, 'id' | 'config'>): PushConfig => ({
  ...(config as unknown as Omit<PushConfig, 'id'>),
  id,
});

export const createPushConfigs = (options: {
  readonly store: PushConfigStore;
  readonly scopeOf: (caller: Caller) => Scope;
  readonly webhookOf: (config: NewPushConfig, taskId: string) => NewWebhook;
}): PushConfigs => {
  const { store, scopeOf, webhookOf } = options;
  const refuse = (refused: Refused, id: string): SealaneError => refusalOf(refused, { id, laneWaiting: 0 });

  const list = async (caller: Caller, taskId: string): Promise<readonly PushConfig[]> => {
    const listed = await store.list(scopeOf(caller), taskId);
    if (!listed.ok) throw refuse(listed, taskId);
    return listed.value.map(pushConfigOf);
  };

  return {
    list,
    save: async (caller, taskId, config) => {
      const webhook = webhookOf(config, taskId);
      const saved = await store.save(scopeOf(caller), taskId, webhook);
      if (!saved.ok) throw refuse(saved, taskId);
      return pushConfigOf(webhook);
    },
    find: async (caller, taskId, id) => (await list(caller, taskId)).find((config) => config.id === id),
    remove: async (caller, taskId, id) => {
      const removed = await store.remove(scopeOf(caller), taskId, id);
      if (!removed.ok) throw refuse(removed, taskId);
    },
  };
};
