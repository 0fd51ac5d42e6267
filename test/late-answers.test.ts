import { textOf } from 'sealane';
import { openStore, type Storage } from 'sealane/store';
import { expect, it } from 'vitest';

import { createGateAgent } from './support/gate-agent.ts';
import { openService } from './support/service.ts';

/** A store that is shared, and whose first answer to a follow-up comes after the second. */
const overtaking = (storage: Storage): Storage => {
  const second = Promise.withResolvers<void>();
  let calls = 0;
  return {
    ...storage,
    tasks: {
      ...storage.tasks,
      exclusive: false,
      follow: async (...words) => {
        calls += 1;
        const isFirst = calls === 1;
        const answer = await storage.tasks.follow(...words);
        if (isFirst) await second.promise;
        else setImmediate(second.resolve);
        return answer;
      },
    },
  };
};

it('messages to a working agent all reach it, in the order of the log, also when the store answers in another', async () => {
  await using storage = await openStore('memory');
  const gate = createGateAgent({ steerable: true });
  await using service = await openService({ store: overtaking(storage), agents: { gate: gate.connector } });
  const { client } = service;
  const task = await client.submit('work');
  const run = await gate.started('work');
  const heard: string[] = [];
  const listening = (async () => {
    for await (const message of run.io.inbox) heard.push(textOf(message.parts));
  })();
  const first = client.submit('first', { taskId: task.id });
  await expect.poll(async () => (await client.get(task.id)).history).toHaveLength(2);
  await client.submit('second', { taskId: task.id });
  await first;
  await expect.poll(() => heard).toEqual(['first', 'second']);
  run.end();
  await listening;
});
