import { SealaneError } from '#domain';

import { requireTaskStore } from './is-task-store.ts';
import type { Storage } from './storage.ts';

/** What a service keeps besides tasks. */
const PARTS = [
  'lanes',
  'keys',
  'cardKeys',
  'audit',
  'pushConfigs',
  'outbox',
  'upkeep',
] as const satisfies readonly (keyof Storage)[];

/** Throws `bad-config` where a storage of somebody's own lacks something: at the start, not when it is needed. */
export const requireStorage = (storage: Storage): void => {
  if (!isObject(storage)) {
    throw new SealaneError('bad-config', 'store must be memory, sqlite:FILE, postgres://… or a Storage.');
  }
  requireTaskStore(storage.tasks);
  const missing = PARTS.filter((name) => !isObject(storage[name]));
  if (missing.length > 0) {
    throw new SealaneError('bad-config', `The given storage is no Storage: it lacks ${missing.join(', ')}.`);
  }
};

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;
