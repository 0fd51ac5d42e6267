import { SealaneError } from '#domain';

import type { PushConfigs } from './task-service.ts';

const refuse = async (): Promise<never> => {
  throw new SealaneError('push-not-supported', 'Push notifications are not available here.');
};

/** Not there yet. */
export const createPushConfigs = (): PushConfigs => ({ save: refuse, find: refuse, list: refuse, remove: refuse });
