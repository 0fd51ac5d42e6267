import { SubscribeToTaskRequest } from '@a2a-js/sdk';
import { A2AService } from '@a2a-js/sdk/server/grpc';
import { expect, it } from 'vitest';

import { createGrpcCaller } from '../support/grpc-caller.ts';
import { startMeasured } from '../support/measured-process.ts';
import { ADMIN_KEY } from '../support/service.ts';
import { freshFolder } from '../support/served-process.ts';
import { openStalledReader } from '../support/stalled-grpc-reader.ts';

/** Of two kilobytes each. */
const EVENTS = 5000;
const { path, requestSerialize } = A2AService.subscribeToTask;
const FROM_THE_BEGINNING = { 'last-event-id': '0' };

it(`readers of gRPC that stop reading do not make the service grow, and get all ${EVENTS} events when they read again`, async () => {
  using folder = freshFolder();
  await using measured = await startMeasured(folder.path, 'grpc');
  const { client, grpc } = measured;
  using caller = createGrpcCaller(grpc, ADMIN_KEY);
  const bytesOf = (id: string): Buffer => requestSerialize(SubscribeToTaskRequest.fromJSON({ id }));
  const readAll = async (id: string): Promise<number> => {
    let count = 0;
    for await (const _item of caller.stream(path, bytesOf(id), { metadata: FROM_THE_BEGINNING })) count += 1;
    return count;
  };

  // Once without anybody in the way, so that everything is loaded and warm.
  const quiet = await client.submit(String(EVENTS));
  const expected = await readAll(quiet.id);
  expect(expected).toBeGreaterThan(EVENTS);
  const before = await measured.memory();

  const crowded = await client.submit(String(EVENTS));
  const headers = { authorization: `Bearer ${ADMIN_KEY}`, ...FROM_THE_BEGINNING };
  const stalled = Array.from({ length: 8 }, () => openStalledReader(grpc, path, bytesOf(crowded.id), headers));
  expect(await readAll(crowded.id)).toBe(expected);

  // What the eight have not taken is 80 MB; a window and a page for each, and the recent events once, may be in memory.
  const grown = (await measured.memory()) - before;
  expect(grown).toBeLessThan(10_000_000);

  const { messages, status } = await stalled[0]!.catchUp();
  expect([messages.length, status]).toEqual([expected, 0]);
  for (const reader of stalled) reader[Symbol.dispose]();
});
