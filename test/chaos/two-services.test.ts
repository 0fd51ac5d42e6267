import { randomUUID } from 'node:crypto';

import { expect, it } from 'vitest';

import { freshSchema } from '../support/fresh-schema.ts';
import { monotonicMs } from './audit-log.ts';
import { createWorld } from './chaos-world.ts';
import { auditedRuns } from './lane-rules.ts';

const TASKS = 500;
const LANES = 40;

it(`two services on one PostgreSQL share ${TASKS} tasks in ${LANES} lanes: in order, one at a time, and both work`, async () => {
  const place = freshSchema();
  await using world = await createWorld({ name: 'two services', store: () => ({ kind: 'postgres', ...place }) });
  const { ledger, random } = world;
  const services = [world.start(), world.start()];
  const clients = await Promise.all(services.map((service) => world.clientOf(service)));
  const beganAt = monotonicMs();

  const fill = async (lane: number): Promise<void> => {
    const draw = random.fork(`lane ${lane}`);
    const agent = lane % 2 === 0 ? 'fail' : 'retry';
    for (let n = lane; n < TASKS; n += LANES) {
      const text = `work ${draw.between(5, 40)} ${draw.between(1, 3)}`;
      const sent = ledger.trying({ messageId: randomUUID(), lane: `${agent}-${lane}`, text });
      const message = { messageId: sent.messageId, role: 'ROLE_USER', parts: [{ text }], contextId: sent.lane };
      const configuration = { returnImmediately: true };
      const { result } = await draw.pick(clients).call('SendMessage', { message, configuration }, { agent });
      const task = result?.['task'] as { readonly id: string } | undefined;
      if (!task) throw new Error(`"${text}" was refused.`);
      ledger.accepted(sent, task.id);
    }
  };
  await Promise.all(Array.from({ length: LANES }, (_, lane) => fill(lane)));
  await world.settle(60_000);
  const { tasks, audit } = await world.check();

  expect(tasks.map(({ state }) => state)).toEqual(Array(TASKS).fill('completed'));
  const runs = auditedRuns(audit);
  expect(runs).toHaveLength(TASKS);
  const shares = services.map(({ pid }) => runs.filter((run) => run.pid === pid).length);
  world.say(`${TASKS} tasks in ${((monotonicMs() - beganAt) / 1000).toFixed(1)} s, shared ${shares.join(' : ')}`);
  for (const share of shares) expect(share).toBeGreaterThan(TASKS / 10);
});
