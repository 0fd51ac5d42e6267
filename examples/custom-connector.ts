/**
 * An agent of your own: it counts down from the number it is sent, a chunk at a time, and stops at once when it is told
 * to. `tasks` is the service without any HTTP, for callers in the same process.
 *
 *     npx node --conditions=sealane:source examples/custom-connector.ts
 */
import { setTimeout as delay } from 'node:timers/promises';

import { type AgentConnector, type Caller, createSealane, sessionKeyOf, textOf } from 'sealane';

const countdown: AgentConnector = {
  kind: 'countdown',
  // Messages with equal keys never run at the same time. This one keeps owners, agents and conversations apart.
  session: sessionKeyOf,
  run: async (turn, io) => {
    const from = Number(textOf(turn.message.parts));
    if (!Number.isInteger(from)) return { state: 'rejected', message: io.say('Send me a whole number.') };
    try {
      for (let left = from; left > 0; left -= 1) {
        // Resolves when there is room for more, so a slow disk slows the agent and not the memory.
        await io.emit({
          kind: 'artifact',
          artifact: { artifactId: 'count', parts: [{ text: `${left} ` }] },
          append: left < from,
        });
        await delay(20, undefined, { signal: io.signal });
      }
    } catch (error) {
      // Told to stop. The run ends here, so it is dead when Sealane believes it is.
      if (io.signal.aborted) return { state: 'canceled' };
      throw error;
    }
    return { state: 'completed', message: io.say('lift-off') };
  },
  // After a crash somebody asks whether a run still lives. Ours lived in the process that is gone.
  stop: async () => 'dead',
  close: async () => undefined,
};

await using sealane = await createSealane({ store: 'memory', agents: { countdown } });
const me: Caller = { owner: 'me', keyId: 'local', admin: false, agents: null, permission: 'guarded', tenant: '' };
const signal = new AbortController().signal;
const send = (text: string) =>
  ({ message: { messageId: text, role: 'ROLE_USER', parts: [{ text }] }, dialect: '1.0' }) as const;

for await (const item of await sealane.tasks.stream(me, send('5'), { signal })) {
  if (item.kind !== 'event') continue;
  const { event } = item.event;
  if (event.kind === 'artifact-added') console.log(textOf(event.artifact.parts).trim());
  if (event.kind === 'turn-ended') console.log(`${event.state}: ${textOf(event.message?.parts ?? [])}`);
}

const started = await sealane.tasks.send(me, send('1000000'), { wait: false, signal });
if (started.kind === 'task') console.log((await sealane.tasks.cancel(me, started.task.id)).state);
const refused = await sealane.tasks.send(me, send('a million'), { wait: true, signal });
if (refused.kind === 'task') console.log(refused.task.state);
