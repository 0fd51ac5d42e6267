/**
 * What Sealane costs on top of OpenClaw: the same echo turn by the raw `agent` method, through Sealane, and through the
 * A2A channel that OpenClaw brings. The ways take turns, so that all of them see the same machine; each keeps one
 * conversation. `node test/openclaw/bench.ts [TURNS]`; the goal is at most 15 ms over the raw method.
 *
 * OpenClaw's own time differs from turn to turn by more than Sealane's whole share, so the difference of two medians of
 * 50, which the goal is about, differs from run to run by more than the goal. Sealane's share is therefore measured
 * within its turns as well: all of a turn but the call of the `agent` method that Sealane makes in it.
 */
import { randomUUID } from 'node:crypto';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { freshFolder } from '../support/served-process.ts';
import { openOpenclawWorld } from './openclaw-world.ts';
import { openRawGateway } from './raw-gateway.ts';
import { watchAgentCalls } from './watched-calls.ts';

const GOAL_MS = 15;
const WARM_UP = 5;
/** OpenClaw has tidied up after a turn before the next one begins, so that no way pays for another. */
const PAUSE_MS = 300;
const turns = Number(process.argv[2] ?? 50);
const PEER_TOKEN = 'peer-token-of-the-bench';

const loadBefore = loadavg()[0] ?? 0;
const calls = watchAgentCalls();
using folder = freshFolder();
await using world = await openOpenclawWorld({
  config: ({ httpUrl }) => ({
    channels: {
      a2a: { enabled: true, advertisedUrl: httpUrl, rateLimitPerMinute: 0, peers: { bench: { token: PEER_TOKEN } } },
    },
  }),
});
const { gateway } = world;
await using service = await world.service({ sealane: { store: `sqlite:${join(folder.path, 'tasks.db')}` } });
const client = await service.clientOf('peer', { permission: 'guarded' });
using raw = await openRawGateway({
  url: gateway.url,
  token: gateway.token,
  scopes: ['operator.read', 'operator.write'],
  caps: ['tool-events'],
});

const sessionKey = 'agent:main:bench:raw';
await raw.request('sessions.patch', { key: sessionKey, permissionMode: 'guarded' });
const contextId = randomUUID();

const ways: Readonly<Record<string, (text: string) => Promise<string>>> = {
  'raw agent method': async (message) =>
    JSON.stringify(
      await raw.agent({ message, sessionKey, idempotencyKey: randomUUID(), deliver: false, disableMessageTool: true }),
    ),
  'Sealane, SendMessage': async (text) => JSON.stringify(await client.send(text, { contextId })),
  'bundled channel, SendMessage': async (text) => {
    const message = { messageId: randomUUID(), contextId, role: 'ROLE_USER', parts: [{ text }] };
    const response = await fetch(`${gateway.httpUrl}/a2a/v1`, {
      method: 'POST',
      headers: { authorization: `Bearer ${PEER_TOKEN}`, 'content-type': 'application/json', 'a2a-version': '1.0' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }),
    });
    return await response.text();
  },
};

const [first, second, third] = Object.entries(ways);
if (!first || !second || !third) throw new Error('There are three ways.');
const orders = [
  [first, second, third],
  [third, second, first],
  [second, first, third],
  [third, first, second],
  [first, third, second],
  [second, third, first],
];

const shares: { readonly beforeMs: number; readonly afterMs: number }[] = [];
const times = new Map(Object.keys(ways).map((name) => [name, [] as number[]]));
for (let turn = 1 - WARM_UP; turn <= turns; turn += 1) {
  // If something of a way still falls on the next one: each comes after each of the others as often.
  for (const [name, send] of orders[Math.abs(turn) % orders.length] ?? []) {
    const text = `bench ${turn} ${name}`;
    await delay(PAUSE_MS);
    const startedAt = performance.now();
    const answer = await send(text);
    const ms = performance.now() - startedAt;
    if (name === 'Sealane, SendMessage' && turn > 0) shares.push(calls.aroundLast(startedAt, startedAt + ms));
    if (!answer.includes(text)) throw new Error(`${name} did not answer: ${answer.slice(0, 500)}`);
    if (turn > 0) times.get(name)?.push(ms);
  }
}

const at = (sorted: readonly number[], share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
const rows = [...times].map(([way, taken]) => {
  const sorted = taken.toSorted((a, b) => a - b);
  return { way, median: at(sorted, 0.5), p10: at(sorted, 0.1), p90: at(sorted, 0.9) };
});
const base = rows[0]?.median ?? 0;
// With more to do than it has cores, a machine makes each of Sealane's steps wait, and the numbers say little.
const load = `load ${loadBefore.toFixed(1)} before, ${(loadavg()[0] ?? 0).toFixed(1)} after, on ${availableParallelism()} cores`;
console.log(`${turns} turns each, milliseconds; ${load}\n`);
console.log('| way | median | p10 | p90 | over raw |\n|---|---:|---:|---:|---:|');
for (const { way, median, p10, p90 } of rows)
  console.log(
    `| ${way} | ${median.toFixed(1)} | ${p10.toFixed(1)} | ${p90.toFixed(1)} | ${(median - base).toFixed(1)} |`,
  );
const medianOf = (taken: readonly number[]): number =>
  at(
    taken.toSorted((a, b) => a - b),
    0.5,
  );
const own = medianOf(shares.map(({ beforeMs, afterMs }) => beforeMs + afterMs));
const before = medianOf(shares.map(({ beforeMs }) => beforeMs));
const after = medianOf(shares.map(({ afterMs }) => afterMs));
console.log(
  `\nOf a turn through Sealane, ${own.toFixed(1)} ms are not its call of the \`agent\` method: ` +
    `${before.toFixed(1)} before it, ${after.toFixed(1)} after it.`,
);
const over = (rows[1]?.median ?? 0) - base;
console.log(`Sealane's own time per turn: ${over.toFixed(1)} ms over the raw method (goal: at most ${GOAL_MS})`);
process.exitCode = over <= GOAL_MS ? 0 : 1;
