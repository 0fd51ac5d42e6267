import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { type A2aClient, createA2aClient } from '../support/a2a-client.ts';
import { ADMIN_KEY } from '../support/service.ts';
import { freshFolder } from '../support/served-process.ts';

const EVENTS = 10_000;
const EVENT_BYTES = 2000;

interface Measured extends AsyncDisposable {
  readonly url: string;
  readonly client: A2aClient;
  /** Memory in use after everything that nobody needs is gone. */
  memory(): Promise<number>;
}

const startMeasured = async (folder: string): Promise<Measured> => {
  const child: ChildProcess = fork(
    join(import.meta.dirname, '../support/measured-service.ts'),
    [join(folder, 'tasks.db')],
    {
      execArgv: ['--expose-gc', '--conditions=sealane:source', '--disable-warning=ExperimentalWarning'],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    },
  );
  const [{ url }] = (await once(child, 'message')) as [{ url: string }];
  return {
    url,
    client: createA2aClient({ url, key: ADMIN_KEY }),
    memory: async () => {
      child.send('how much?');
      const [{ bytes }] = (await once(child, 'message')) as [{ bytes: number }];
      return bytes;
    },
    [Symbol.asyncDispose]: async () => {
      const gone = once(child, 'exit');
      child.disconnect();
      await gone;
    },
  };
};

/** A reader that asks for a stream and then takes nothing from its socket. */
const openStalled = async (url: string, taskId: string): Promise<Socket> => {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.pause();
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id: taskId } });
  socket.write(
    `POST /a2a HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: Bearer ${ADMIN_KEY}\r\nLast-Event-ID: 0\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  return socket;
};

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
  const stalled = await Promise.all(Array.from({ length: 8 }, () => openStalled(url, crowded.id)));
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
