import { readFileSync } from 'node:fs';

import { plainOutput, runCommandLine } from './command-line.ts';
import { guardStandardStreams } from './standard-streams.ts';

const words = process.argv.slice(2);

guardStandardStreams(() => plainOutput(words));

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  readonly version: string;
};
await runCommandLine(words, version);
