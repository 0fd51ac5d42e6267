import { expect, it } from 'vitest';

import { createGateAgent } from './support/gate-agent.ts';
import { openService } from './support/service.ts';

it('a reader who has fallen behind gets the rest and the end of a task that is removed meanwhile', async () => {
  const gate = createGateAgent();
  await using service = await openService({ agents: { gate: gate.connector } });
  const { tasks } = service.sealane;
  const { id } = await service.client.submit('work');
  const run = await gate.started('work');
  const text = 'x'.repeat(20_000);
  for (let n = 0; n < 100; n += 1) {
    await run.io.emit({ kind: 'artifact', artifact: { artifactId: 'a', parts: [{ text }] }, append: n > 0 });
  }
  run.end({ state: 'input-required', message: run.io.say('which?') });
  await expect.poll(async () => (await tasks.peek(service.caller, id)).state).toBe('input-required');

  const signal = new AbortController().signal;
  const stream = await tasks.subscribe(service.caller, id, { lastEventId: 0, signal });
  const seen: number[] = [];
  let last = '';
  for await (const item of stream) {
    if (seen.length === 0) await tasks.remove(service.caller, id);
    if (item.kind !== 'event') continue;
    seen.push(item.seq);
    last = item.event.event.kind === 'artifact-added' ? '' : item.event.event.state;
  }
  expect(seen).toEqual(Array.from({ length: 104 }, (_, index) => index + 1));
  expect(last).toBe('canceled');
});
