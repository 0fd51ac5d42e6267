/**
 * A store of your own that wraps one of ours: here SQLite, with every call to its task port counted. Another database
 * needs a `Driver` instead, which executes Sealane's steps. `describeStoreContract` of `sealane/testing` checks every
 * promise of a store, and checks this one, too.
 *
 *     npx node --conditions=sealane:source examples/custom-store.ts
 */
import { createEchoAgent, createSealane } from 'sealane';
import { openStore, type Storage } from 'sealane/store';

/** The same storage; `onCall` hears the name of every call before it is made. */
export const watched = (storage: Storage, onCall: (name: string) => void): Storage => ({
  ...storage,
  description: `${storage.description}, watched`,
  tasks: new Proxy(storage.tasks, {
    get: (tasks, name, receiver) => {
      const member: unknown = Reflect.get(tasks, name, receiver);
      if (typeof member !== 'function') return member;
      return (...args: readonly unknown[]): unknown => {
        onCall(String(name));
        return Reflect.apply(member, tasks, args);
      };
    },
  }),
});

if (import.meta.main) {
  const calls = new Map<string, number>();
  await using storage = await openStore('memory');
  const store = watched(storage, (name) => calls.set(name, (calls.get(name) ?? 0) + 1));
  await using sealane = await createSealane({ store, agents: { echo: createEchoAgent() } });
  const caller = {
    owner: 'me',
    keyId: 'local',
    admin: false,
    agents: null,
    permission: 'guarded',
    tenant: '',
  } as const;
  const message = { messageId: '1', role: 'ROLE_USER', parts: [{ text: 'hello' }] } as const;
  const outcome = await sealane.tasks.send(
    caller,
    { message, dialect: '1.0' },
    { wait: true, signal: new AbortController().signal },
  );
  if (outcome.kind === 'task') console.log(`the task is ${outcome.task.state}`);
  console.log([...calls].map(([name, count]) => `${name} ${count}`).join(', '));
}
