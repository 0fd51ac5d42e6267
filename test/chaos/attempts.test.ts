import { join } from 'node:path';

import { expect, it } from 'vitest';

import { eventually } from '../support/eventually.ts';
import { freshSchema } from '../support/fresh-schema.ts';
import { readAudit } from './audit-log.ts';
import { createWorld, type WorldOptions } from './chaos-world.ts';
import { auditedRuns } from './lane-rules.ts';

const STORES: readonly { readonly on: string; readonly storeOf: () => WorldOptions['store'] }[] = [
  { on: 'SQLite', storeOf: () => (folder) => ({ kind: 'sqlite', file: join(folder, 'data', 'sealane.db') }) },
  {
    on: 'PostgreSQL',
    storeOf: () => {
      const place = freshSchema();
      return () => ({ kind: 'postgres', ...place });
    },
  },
];

it.each(STORES)(
  'on $on a run whose service is killed fails at once, or after its third attempt where it may be tried again',
  async ({ on, storeOf }) => {
    await using world = await createWorld({ name: `three attempts on ${on}`, store: storeOf() });
    const { ledger } = world;
    let service = world.start();
    const client = await world.clientOf(service);
    for (const agent of ['fail', 'retry']) {
      // Who waits behind it has its turn when the last attempt has failed.
      for (const text of agent === 'retry' ? ['work 600000 1000', 'work 10 1'] : ['work 600000 1000']) {
        const sent = ledger.trying({ messageId: `${agent} ${text}`, lane: agent, text });
        const message = { messageId: sent.messageId, role: 'ROLE_USER', parts: [{ text }], contextId: agent };
        const { result } = await client.call(
          'SendMessage',
          { message, configuration: { returnImmediately: true } },
          { agent },
        );
        ledger.accepted(sent, (result as { task: { id: string } }).task.id);
      }
    }
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      await eventually(() => {
        const runs = auditedRuns(readAudit(join(world.folder, 'audit.jsonl')));
        expect(runs.filter((run) => run.lane === 'retry' && run.pid === service.pid)).toMatchObject([{ attempt }]);
      }, 20_000);
      await service.kill();
      service = world.start();
    }
    await world.settle(20_000);
    const { tasks } = await world.check();
    const ends = tasks.map(({ agent, state, events }) => {
      const attempts = events.filter(({ event }) => event.kind === 'run-started').length;
      return `${agent}: ${state} after ${attempts}`;
    });
    expect(ends.toSorted()).toEqual(['fail: failed after 1', 'retry: completed after 1', 'retry: failed after 3']);
  },
);
