/** A Sealane whose descriptors are all in use but a few: runs a turn for each number of free ones and tells its end. */
import { closeSync, openSync } from 'node:fs';

import { textOf } from '#domain';

import { createCommandAgent } from './command-agent.ts';
import { recordedIo, turnOf } from './recorded-run.fixture.ts';

const fill = (): number[] => {
  const held: number[] = [];
  try {
    for (;;) held.push(openSync('/dev/null', 'r'));
  } catch {
    return held;
  }
};

const agent = createCommandAgent({ command: ['cat'] });
// Whatever is opened only once is open from here on.
await agent.run(turnOf('work'), recordedIo());
for (let free = 0; free <= Number(process.argv[2]); free += 1) {
  const held = fill();
  for (const descriptor of held.splice(0, free)) closeSync(descriptor);
  const { state, retryable, message } = await agent.run(turnOf('work'), recordedIo());
  for (const descriptor of held) closeSync(descriptor);
  process.stdout.write(`${JSON.stringify({ state, retryable, text: textOf(message?.parts ?? []) })}\n`);
}
await agent.close();
