import { createTaskShelf } from 'sealane';
import { expect, it } from 'vitest';

import { eventually } from './support/eventually.ts';
import { createGateAgent } from './support/gate-agent.ts';
import { openService } from './support/service.ts';
import { createConfig } from './support/webhook-calls.ts';
import { isEnd, startReceiver } from './support/webhook-receiver.ts';

it('a webhook is `failed` while its last delivery is, and `active` again after one that is not, in every view', async () => {
  await using receiver = await startReceiver();
  const gate = createGateAgent();
  await using service = await openService({ allowPrivateWebhooks: true, agents: { gate: gate.connector } });
  const { storage } = service.sealane;
  const { id } = await service.client.submit('work');
  const run = await gate.started('work');
  await createConfig(service.client, id, { id, url: `${receiver.url}/hook`, token: 't' });
  const shelf = createTaskShelf({ storage, owner: service.caller.owner });
  const shown = { taskId: id, url: `${receiver.url}/hook`, token: 't', authentication: null };
  expect(await shelf.getPushConfig(id)).toEqual({ ...shown, status: 'active' });
  for (const [code, status] of [
    [500, 'failed'],
    [200, 'active'],
  ] as const) {
    receiver.answer('/hook', (response) => response.writeHead(code).end());
    await run.io.emit({ kind: 'status', message: run.io.say(status) });
    await eventually(async () => expect(await shelf.getPushConfig(id)).toEqual({ ...shown, status }));
  }
  run.end();
  await receiver.until('/hook', isEnd);
});
