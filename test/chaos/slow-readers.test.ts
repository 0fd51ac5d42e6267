import type { Socket } from 'node:net';

import { expect, it } from 'vitest';

import type { A2aClient } from '../support/a2a-client.ts';
import { startMeasured } from '../support/measured-process.ts';
import { ADMIN_KEY } from '../support/service.ts';
import { freshFolder } from '../support/served-process.ts';
import { openStalledCall } from '../support/stalled-http-reader.ts';

const EVENTS = 10_000;
const EVENT_BYTES = 2000;

const readAll = async (client: A2aClient, id: string): Promise<{ readonly events: number; readonly ms: number }> => {
  const startedAt = performance.now();
  let last = 0;
  for await (const event of await client.subscribe(id, 0)) {
    if (event.id !== last + 1) throw new Error(`Event ${event.id} came after ${last}.`);
    last = event.id;
  }
  return { events: last, ms: performance.now() - startedAt };
};

/** Reads what a stalled reader was sent, once it reads again, and counts the numbers of its events. */
const catchUp = async (socket: Socket): Promise<readonly number[]> => {
  const numbers: number[] = [];
  let rest = '';
  for await (const chunk of socket.setEncoding('utf8')) {
    rest += chunk as string;
    for (const [, id] of rest.matchAll(/^id: (\d+)\n/gm)) numbers.push(Number(id));
    rest = rest.slice(rest.lastIndexOf('\n') + 1);
    if (numbers.at(-1) === EVENTS + 3) break;
  }
  return numbers;
};

it(`readers that stop reading neither make the service grow nor slow the others, and get all ${EVENTS} events when they read again`, async () => {
  using folder = freshFolder();
  await using measured = await startMeasured(folder.path);
  const { client, url } = measured;

  // Once without anybody in the way, for the comparison.
  const quiet = await client.submit(String(EVENTS));
  const alone = await readAll(client, quiet.id);
  expect(alone.events).toBe(EVENTS + 3);
  const before = await measured.memory();

  const crowded = await client.submit(String(EVENTS));
  const call = { key: ADMIN_KEY, method: 'SubscribeToTask', taskId: crowded.id, lastEventId: 0 };
  const stalled = await Promise.all(Array.from({ length: 8 }, () => openStalledCall(url, call)));
  const together = await readAll(client, crowded.id);
  expect(together.events).toBe(EVENTS + 3);
  expect(together.ms).toBeLessThan(alone.ms * 3 + 2000);

  // What the eight have not taken is 160 MB; a batch for each, and the recent events once, may be in memory.
  const grown = (await measured.memory()) - before;
  expect(grown).toBeLessThan(EVENTS * EVENT_BYTES * 0.5);

  const caughtUp = await catchUp(stalled[0]!);
  expect(caughtUp).toEqual(Array.from({ length: EVENTS + 3 }, (_, index) => index + 1));
  for (const socket of stalled) socket.destroy();
});
