import { expect, it } from 'vitest';

import { createGateAgent } from './support/gate-agent.ts';
import { openService } from './support/service.ts';
import { startReceiver } from './support/webhook-receiver.ts';

/** A webhook as the store keeps it, of any version. */
const webhook = (dialect: string, url: string) => ({ id: dialect, dialect, url, taskName: 'mine' });

it('a task that is removed while it waits for its caller tells the webhooks of every version that it was canceled', async () => {
  await using receiver = await startReceiver();
  await using service = await openService({ allowPrivateWebhooks: true });
  const { tasks } = service.sealane;
  const { id } = await service.client.send('@ask which?');
  for (const dialect of ['1.0', '0.3', '0.1']) {
    await tasks.pushConfigs.save(service.caller, id, webhook(dialect, `${receiver.url}/${dialect}`));
  }
  await tasks.remove(service.caller, id);
  for (const dialect of ['1.0', '0.3', '0.1']) {
    const [told] = await receiver.first(`/${dialect}`, 1);
    expect(told?.text.toLowerCase(), dialect).toContain('canceled');
    expect(told?.headers['webhook-id']).toMatch(new RegExp(`^${id}\\.`));
  }
});

it('the webhook of a removed task is told nothing of the next task of its name', async () => {
  await using receiver = await startReceiver();
  const gate = createGateAgent();
  await using service = await openService({ allowPrivateWebhooks: true, agents: { gate: gate.connector } });
  const { tasks } = service.sealane;
  const send = (text: string, push?: object) =>
    tasks.send(
      service.caller,
      {
        message: { messageId: text, role: 'ROLE_USER', parts: [{ text }] },
        dialect: '0.1',
        givenTaskId: 'mine',
        ...(push && { push: push as never }),
      },
      { wait: false },
    );
  // The first delivery is slow, so that the rest is owed when the task is removed.
  const slow = Promise.withResolvers<void>();
  receiver.answer('/old', (response) => void slow.promise.then(() => response.end()));
  await send('the first', webhook('0.1', `${receiver.url}/old`));
  await receiver.first('/old', 1);
  (await gate.started('the first')).end();
  await expect.poll(async () => (await tasks.peek(service.caller, 'mine')).state).toBe('completed');
  await tasks.remove(service.caller, 'mine');
  await send('the secret');
  slow.resolve();
  const told = await receiver.until('/old', ({ text }) => /completed/i.test(text));
  expect(told.map(({ text }) => text).join()).not.toContain('the secret');
});
