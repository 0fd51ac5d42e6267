import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { pino } from 'pino';
import { type AgentConnector, createEchoAgent, sessionKeyOf } from 'sealane';
import { describe, expect, it } from 'vitest';

import { openSqlite } from '../packages/sealane/src/store/sqlite/index.ts';

import { refusalOf } from './support/a2a-client.ts';
import { eventually } from './support/eventually.ts';
import { freshFolder, serve } from './support/served-process.ts';
import { openService } from './support/service.ts';

const UNAVAILABLE = -32020;

/** Works until it is aborted, and says when that was. */
const createPatientAgent = () => {
  const aborted = Promise.withResolvers<void>();
  const connector: AgentConnector = {
    kind: 'patient',
    session: sessionKeyOf,
    run: async (_turn, io) => {
      await io.emit({ kind: 'status' });
      await new Promise((resolve) => io.signal.addEventListener('abort', resolve, { once: true }));
      aborted.resolve();
      return { state: 'failed' };
    },
    stop: async () => 'dead',
    close: async () => undefined,
  };
  return { connector, aborted: aborted.promise };
};

describe('a service inside another program whose store has died', () => {
  const openMortal = async (folder: string) => {
    const storage = await openSqlite({ file: join(folder, 'sealane.db'), heapMb: 16 });
    const facts = { text: 'x'.repeat(1_000_000) };
    for (let n = 0; n < 60; n += 1)
      await storage.audit.record({ at: Date.now(), kind: 'test', actor: 'test', subject: `${n}`, facts });
    const { connector, aborted } = createPatientAgent();
    const told: Error[] = [];
    const lines: string[] = [];
    const service = await openService({
      store: storage,
      agents: { echo: { connector: createEchoAgent(), default: true }, patient: connector },
      log: pino({ level: 'info' }, { write: (line: string) => void lines.push(line) }),
      onFatal: (error) => {
        told.push(error);
        throw new Error('a listener with a bug');
      },
    });
    return {
      ...service,
      storage,
      aborted,
      told,
      log: () => lines.join(''),
      /** Asks for more than the heap of the store's thread has room for. */
      die: () => expect(storage.audit.list({ limit: 1000 })).rejects.toThrow('has ended unexpectedly'),
    };
  };

  it('tells it once, aborts what runs, refuses every call at once, says so in its health, and closes', async () => {
    using folder = freshFolder();
    const { client, sealane, url, told, log, storage, ...service } = await openMortal(folder.path);
    const toPatient = client.with({ path: '/agents/patient' });
    const running = await toPatient.stream('work');
    await running.next();
    const waiting = client.send('@sleep 600000').then(
      ({ status }) => status.state,
      (error: unknown) => error,
    );
    await eventually(async () => expect((await storage.upkeep.counts()).running).toBe(2));

    await service.die();
    expect(told).toMatchObject([{ code: 'unavailable', message: expect.stringContaining('Start the service again') }]);
    await service.aborted;
    expect(await waiting).toBe('TASK_STATE_WORKING');
    await running.rest();

    const startedAt = performance.now();
    for (const call of [() => client.send('hello'), () => client.list(), () => client.get('x')]) {
      const refusal = await refusalOf(call());
      expect(refusal.code).toBe(UNAVAILABLE);
      expect(refusal.message).toMatch(/must be started again/);
    }
    const health = await fetch(`${url}/healthz`);
    expect([health.status, await health.text()]).toEqual([503, expect.stringContaining('start the service again')]);
    const ready = await fetch(`${url}/readyz`);
    expect([ready.status, await ready.text()]).toEqual([503, expect.stringContaining('failed for good')]);
    expect(await storage.upkeep.check()).toMatch(/has ended unexpectedly/);
    expect(performance.now() - startedAt).toBeLessThan(3000);

    const closingAt = performance.now();
    await sealane.close();
    await storage.close();
    expect(performance.now() - closingAt).toBeLessThan(5000);
    expect(told).toHaveLength(1);
    expect(log()).toMatch(/"level":60.*has ended unexpectedly/);
    expect(log()).not.toContain('x'.repeat(100));
  });

  it('can be made again in the same program, and recovers what ran', async () => {
    using folder = freshFolder();
    const { client, sealane, storage, die } = await openMortal(folder.path);
    const { id } = await client.submit('@sleep 600000');
    await die();
    await sealane.close();
    await storage.close();
    await using again = await openService({ store: `sqlite:${join(folder.path, 'sealane.db')}` });
    await eventually(async () => expect((await again.client.get(id)).status.state).toBe('TASK_STATE_FAILED'));
    expect((await again.client.get(id)).metadata).toMatchObject({ reason: 'interrupted' });
  });
});

it('`sealane serve` whose store has died says so and ends with exit code 9, and the next one goes on', async () => {
  using folder = freshFolder();
  const order = join(folder.path, 'die');
  const preload = new URL('./support/dying-store.mjs', import.meta.url).href;
  const env = { NODE_OPTIONS: `--import=${preload}`, SEALANE_TEST_DIE: order };
  await using service = await serve(folder.path, { env });
  const { client } = service;
  const done = await client.send('before');
  const { id } = await client.submit('@sleep 600000');
  const open = await client.stream('@sleep 600000');
  await open.next();
  writeFileSync(order, '');
  const diedAt = performance.now();
  expect(await service.ended()).toBe(9);
  expect(performance.now() - diedAt).toBeLessThan(15_000);
  expect(service.log()).toMatch(/has ended unexpectedly \(died on purpose\).*Start the service again/);
  expect(service.log()).toMatch(/exit code 9/);

  await using again = await serve(folder.path);
  expect(await again.client.get(done.id)).toEqual(done);
  await eventually(async () => expect((await again.client.get(id)).status.state).toBe('TASK_STATE_FAILED'));
});
