/** A small Sealane: runs one turn of a program and tells its reference. Tests kill it, or let it end by itself. */
import { createCommandAgent } from './command-agent.ts';
import type { CommandInput } from './command-options.ts';
import { recordedIo, turnOf } from './recorded-run.fixture.ts';

const agent = createCommandAgent(JSON.parse(process.argv[2] ?? '') as CommandInput);
const io = recordedIo({
  remember: async (ref) => void process.stdout.write(`ref ${JSON.stringify(ref)}\n`),
});
const end = await agent.run(turnOf('work'), io);
process.stdout.write(`end ${JSON.stringify(end)}\n`);
