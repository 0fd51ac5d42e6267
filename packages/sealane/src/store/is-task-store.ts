import { SealaneError } from '#domain';

import type { TaskStore } from './task-store.ts';

/** Every member of the port and what it must be; a member that is missing here does not compile. */
const MEMBERS: Readonly<Record<keyof TaskStore, 'function' | 'boolean'>> = {
  exclusive: 'boolean',
  admit: 'function',
  follow: 'function',
  claim: 'function',
  append: 'function',
  remember: 'function',
  finish: 'function',
  release: 'function',
  requestCancel: 'function',
  force: 'function',
  renew: 'function',
  leave: 'function',
  reap: 'function',
  interventions: 'function',
  find: 'function',
  peek: 'function',
  read: 'function',
  list: 'function',
  put: 'function',
  remove: 'function',
  onWake: 'function',
};

/** What a value lacks to be a task store, each as `name()` or `name`; empty when nothing is missing. */
export const missingMembers = (value: unknown): readonly string[] => {
  const has = (value ?? {}) as Readonly<Record<string, unknown>>;
  return Object.entries(MEMBERS)
    .filter(([name, type]) => typeof has[name] !== type)
    .map(([name, type]) => (type === 'function' ? `${name}()` : name));
};

/** True when a value has every member of the port. Whether it keeps the promises, only the contract suite can tell. */
export const isTaskStore = (value: unknown): value is TaskStore => missingMembers(value).length === 0;

/** The same for a start that cannot go on without one: the error names what is missing. */
export const requireTaskStore = (value: unknown): TaskStore => {
  if (isTaskStore(value)) return value;
  const missing = missingMembers(value);
  throw new SealaneError(
    'bad-config',
    `The given store is no TaskStore: it lacks ${missing.join(', ')}. ` +
      'Implement the port in sealane/store, and check it with describeStoreContract from sealane/testing.',
    { facts: { missing: missing.join(', ') } },
  );
};
