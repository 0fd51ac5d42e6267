import { type AgentConnector, sessionKeyOf } from 'sealane';
import { expect, it } from 'vitest';

import type { A2aClient } from './support/a2a-client.ts';
import type { StreamEvent } from './support/event-stream.ts';
import { openService } from './support/service.ts';

interface LogPage {
  readonly events: readonly { readonly seq: number; readonly event: StreamEvent }[];
  readonly lastSeq: number;
}

const page = (client: A2aClient, id: string, after: number, limit: number): Promise<LogPage> =>
  client.call('tasks/events', { id, after, limit });

/** As the extension's page tells clients to read it. */
const pagesOf = async (client: A2aClient, id: string, limit: number): Promise<readonly LogPage[]> => {
  const pages = [await page(client, id, 0, limit)];
  for (let last = pages[0]!; last.events.at(-1)!.seq < last.lastSeq; pages.push(last)) {
    last = await page(client, id, last.events.at(-1)!.seq, limit);
  }
  return pages;
};

const seqsOf = (pages: readonly LogPage[]): readonly number[] =>
  pages.flatMap(({ events }) => events.map((e) => e.seq));

it('a log is read in pages of as many events as were asked for', async () => {
  await using service = await openService();
  const { client } = service;
  const { id } = await client.send('@stream 300 0');
  const whole = await page(client, id, 0, 1000);
  expect(whole.events.at(-1)!.seq).toBe(whole.lastSeq);
  expect(whole.lastSeq).toBeGreaterThan(300);
  const pages = await pagesOf(client, id, 70);
  expect(pages.slice(0, -1).map(({ events }) => events.length)).toEqual(pages.slice(1).map(() => 70));
  expect(pages.flatMap(({ events }) => events)).toEqual(whole.events);
  expect((await page(client, id, whole.lastSeq, 10)).events).toEqual([]);
});

it('a page of a log is not larger for large events: it has fewer of them', async () => {
  const CHUNKS = 40;
  const chunk = 'x'.repeat(500_000);
  const large: AgentConnector = {
    kind: 'scripted',
    session: sessionKeyOf,
    run: async (_turn, io) => {
      for (let index = 0; index < CHUNKS; index += 1) {
        const artifact = { artifactId: `part-${index}`, parts: [{ text: chunk }] };
        await io.emit({ kind: 'artifact', artifact });
      }
      return { state: 'completed' };
    },
    stop: async () => 'dead',
    close: async () => undefined,
  };
  await using service = await openService({ agents: { large } });
  const { client } = service;
  const { id } = await client.send('go');
  const pages = await pagesOf(client, id, 1000);
  const { lastSeq } = pages[0]!;
  expect(lastSeq).toBeGreaterThan(CHUNKS);
  expect(seqsOf(pages)).toEqual(Array.from({ length: lastSeq }, (_, index) => index + 1));
  for (const { events } of pages) expect(JSON.stringify(events).length).toBeLessThan(10_000_000);
});
