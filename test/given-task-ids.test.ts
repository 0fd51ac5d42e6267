import { openStore, type Storage } from 'sealane/store';
import { describe, expect, it } from 'vitest';

import { openPostgres } from '../packages/sealane/src/store/postgres/index.ts';
import { freshSchema } from './support/fresh-schema.ts';
import { createGateAgent } from './support/gate-agent.ts';
import { openService, type TestService } from './support/service.ts';

describe('a caller that names its tasks itself', () => {
  const options = { wait: true };
  const request = (text: string, givenTaskId: string) =>
    ({
      message: { messageId: text, role: 'ROLE_USER', parts: [{ text }] },
      dialect: '0.1',
      givenTaskId,
    }) as const;

  it('makes the task of that name, and continues it afterwards', async () => {
    await using service = await openService();
    const { tasks } = service.sealane;
    const first = await tasks.send(service.caller, request('@ask which?', 'mine'), options);
    expect(first).toMatchObject({ kind: 'task', task: { id: 'mine', state: 'input-required' } });
    const second = await tasks.send(service.caller, request('that', 'mine'), options);
    expect(second).toMatchObject({ kind: 'task', task: { id: 'mine', state: 'completed' } });
  });

  const sendTwice = async (more: Parameters<typeof openService>[0] = {}): Promise<void> => {
    const gate = createGateAgent({ steerable: true });
    await using service = await openService({ agents: { gate: gate.connector }, ...more });
    const { tasks } = service.sealane;
    for (let n = 0; n < 10; n += 1) {
      const both = await Promise.all(
        ['one', 'two'].map((text) =>
          tasks.send(service.caller, request(`${text} ${n}`, `mine-${n}`), { ...options, wait: false }),
        ),
      );
      expect(both).toMatchObject([{ task: { id: `mine-${n}` } }, { task: { id: `mine-${n}` } }]);
      (await gate.startedAt(n)).end();
    }
    expect(gate.begun).toHaveLength(10);
  };

  it('and sends twice at once makes one task, with one run', () => sendTwice());

  it('and sends twice at once makes one task, on PostgreSQL', async () => {
    await using store = await openPostgres(freshSchema());
    await sendTwice({ store });
  });

  it.each([
    ['was deleted', (service: TestService) => service.sealane.tasks.remove(service.caller, 'mine')],
    ['was purged', (_service: TestService, storage: Storage) => storage.upkeep.purge({ owner: 'admin', limit: 10 })],
  ])('and uses a name again hears of the new task, while a reader of the one that %s stalls', async (_how, remove) => {
    await using storage = await openStore('memory');
    await using service = await openService({ store: storage });
    const { tasks } = service.sealane;
    const first = await tasks.stream(service.caller, request('@ask which?', 'mine'));
    const stalled = first[Symbol.asyncIterator]();
    await stalled.next();
    await tasks.send(service.caller, request('that', 'mine'), options);
    await remove(service, storage);
    const told: unknown[] = [];
    for await (const item of await tasks.stream(service.caller, request('@sleep 20', 'mine'))) told.push(item);
    expect(told.at(-1)).toMatchObject({ kind: 'event', event: { event: { state: 'completed' } } });
    await stalled.return?.();
  });

  it('learns nothing of the tasks of others', async () => {
    await using service = await openService();
    const { tasks } = service.sealane;
    await tasks.send(service.caller, request('@ask which?', 'mine'), options);
    const stranger = { ...service.caller, owner: 'stranger' };
    await expect(tasks.send(stranger, request('hello', 'mine'), options)).rejects.toMatchObject({
      code: 'task-not-found',
    });
    expect(await tasks.get(service.caller, 'mine')).toMatchObject({ state: 'input-required' });
  });
});
