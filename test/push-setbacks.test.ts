import { pino } from 'pino';
import { describe, expect, it } from 'vitest';

import { eventually } from './support/eventually.ts';
import { createGateAgent } from './support/gate-agent.ts';
import { startOwnPostgres } from './support/postgres.ts';
import { openService } from './support/service.ts';
import { createConfig, logOf, withWebhook } from './support/webhook-calls.ts';
import { isEnd, type Received, startReceiver } from './support/webhook-receiver.ts';

const allowPrivateWebhooks = true;

/** A poll so slow that a delivery within a test's time was started by its hint. */
const push = { pollMs: 600_000, graceMs: 100 };

describe('a webhook', () => {
  it('that wants to speak another protocol is told on, and keeps nobody from closing', async () => {
    await using receiver = await startReceiver();
    await using service = await openService({ allowPrivateWebhooks, push });
    receiver.answer('/switches', (response) => {
      response.socket?.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\nConnection: upgrade\r\n\r\n');
    });
    await service.client.send('hello', withWebhook({ url: `${receiver.url}/switches` }));
    await receiver.until('/switches', isEnd);
  });

  it.each(['removed', 'replaced'])('that keeps us waiting is told nothing more once it is %s', async (what) => {
    const gate = createGateAgent();
    await using receiver = await startReceiver();
    const agents = { gate: { connector: gate.connector } };
    await using service = await openService({ allowPrivateWebhooks, push: { ...push, slowMs: 1 }, agents });
    const { id: taskId } = await service.client.submit('work');
    const run = await gate.started('work');
    const answered = Promise.withResolvers<void>();
    receiver.answer('/first', (response) => void answered.promise.then(() => response.end()));
    await createConfig(service.client, taskId, { id: 'hook', url: `${receiver.url}/first` });
    const words = ['one', 'two', 'three'];
    await Promise.all(
      words.map((text) => run.io.emit({ kind: 'artifact', artifact: { artifactId: text, parts: [{ text }] } })),
    );
    await receiver.first('/first', 1);
    if (what === 'removed') {
      await service.client.call('DeleteTaskPushNotificationConfig', { taskId, id: 'hook' });
      await createConfig(service.client, taskId, { id: 'other', url: `${receiver.url}/second` });
    } else await createConfig(service.client, taskId, { id: 'hook', url: `${receiver.url}/second` });
    answered.resolve();
    run.end();
    await receiver.until('/second', isEnd);
    expect(receiver.at('/first')).toHaveLength(1);
  });
});

describe('deliveries', () => {
  it('go on at once, each made once, when a database that was away is back', async () => {
    const server = await startOwnPostgres();
    try {
      const gate = createGateAgent();
      await using receiver = await startReceiver();
      const agents = { gate: { connector: gate.connector } };
      const lines: string[] = [];
      const log = pino({ level: 'error' }, { write: (line: string) => void lines.push(line) });
      await using service = await openService({ store: server.url, allowPrivateWebhooks, push, agents, log });
      const answered = Promise.withResolvers<void>();
      for (const path of ['/new', '/old'])
        receiver.answer(path, (response) => void answered.promise.then(() => response.end()));
      const message = { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'work' }] };
      const configuration = { blocking: false, pushNotificationConfig: { url: `${receiver.url}/old` } };
      const { id } = await service.client.call<{ id: string }>(
        'message/send',
        { message, configuration },
        { 'a2a-version': '0.3' },
      );
      const run = await gate.started('work');
      await createConfig(service.client, id, { url: `${receiver.url}/new` });
      for (const text of ['one', 'two']) await run.io.emit({ kind: 'status', message: run.io.say(text) });
      await Promise.all([receiver.first('/new', 1), receiver.first('/old', 1)]);
      await server.crash();
      // Now the store is asked for what comes next, or told what was made.
      answered.resolve();
      await eventually(() => expect(lines.filter((line) => line.includes('The outbox cannot be'))).toHaveLength(2));
      await server.start();
      run.end();
      const told = await receiver.until('/new', isEnd);
      const isOldEnd = ({ text }: Received): boolean => text.includes('"state":"completed"');
      const states = (await receiver.until('/old', isOldEnd)).map(({ body }) => body['status']);
      expect(told.map(({ body }) => body)).toEqual((await logOf(service.client, id)).slice(2));
      expect(states).toMatchObject([{ state: 'submitted' }, { state: 'working' }, { state: 'completed' }]);
    } finally {
      await server.stop();
    }
  });
});
