/** A Sealane whose descriptors are all in use: runs a turn with a message that is too long for an argument, and tells its end. */
import { openSync } from 'node:fs';

import { textOf } from '#domain';

import { recordedIo, turnOf } from '../../command/recorded-run.fixture.ts';
import { createOpenclawCliAgent } from './openclaw-cli-agent.ts';

const agent = createOpenclawCliAgent({ path: '/bin/true', stateDir: process.cwd() });
const turn = (text: string) => turnOf(text, { session: 'a2a-x-1', permission: 'agent-default' });
// Whatever is opened only once is open from here on.
await agent.run(turn('work'), recordedIo());
try {
  for (;;) openSync('/dev/null', 'r');
} catch {
  // There are no more.
}
const { state, retryable, message } = await agent.run(turn('long '.repeat(100_000)), recordedIo());
process.stdout.write(JSON.stringify({ state, retryable, text: textOf(message?.parts ?? []) }));
process.exit();
