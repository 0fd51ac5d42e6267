/**
 * `npm run bench`: measures Sealane against the official SDK's reference server, on this machine, in this run.
 * README.md says what the numbers mean.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { FULL, QUICK, reasonOf, type Bench } from './bench.ts';
import { measureBindings } from './bindings.ts';
import { commitOf, faultOfCheckout, THIS_CHECKOUT } from './checkout.ts';
import { measureCrowd } from './crowd.ts';
import { measureIdle } from './idle.ts';
import { measureLookups } from './lookups.ts';
import { measureLoop } from './loop.ts';
import { toJson, toMarkdown, type Circumstances } from './report.ts';
import { verdictOf, type Section } from './section.ts';
import { measureSend } from './send.ts';
import { measureStream } from './stream.ts';
import { measureVersions } from './versions.ts';

const MEASUREMENTS: Readonly<Record<string, (bench: Bench) => Promise<Section>>> = {
  send: measureSend,
  crowd: measureCrowd,
  bindings: measureBindings,
  stream: measureStream,
  loop: measureLoop,
  idle: measureIdle,
  lookups: measureLookups,
  versions: measureVersions,
};

const USAGE = `npm run bench -- [options]

  --quick            fewer rounds and a smaller store: under a minute, indicative only
  --only NAME        one measurement, or several separated by commas: ${Object.keys(MEASUREMENTS).join(', ')}
  --before DIR       also compare with an earlier version of Sealane: a checkout with its node_modules. It is started as
                     this one is, by its own packages/sealane/bin: from its build if that is younger than its
                     sources, and otherwise from its sources
  --connections N    connections of the send load (32)
  --check            exit with 1 when a goal is missed or an answer was wrong
`;

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    before: { type: 'string' },
    connections: { type: 'string', default: '32' },
    check: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

// npm changes to the folder of its package.json, and tells where it was called.
const before = options.before && resolve(process.env['INIT_CWD'] ?? '.', options.before);
const chosen =
  options.only?.split(',') ?? Object.keys(MEASUREMENTS).filter((name) => name !== 'versions' || before !== undefined);
const unknown = chosen.filter((name) => !Object.hasOwn(MEASUREMENTS, name));
const connections = Number(options.connections);
const faults = [
  unknown.length > 0 && `There is no measurement "${unknown.join('", "')}".`,
  !(connections >= 1) && 'The number of connections must be 1 or more.',
  before === undefined && chosen.includes('versions') && 'The measurement "versions" needs --before DIR.',
  before !== undefined && faultOfCheckout(before),
].filter((fault) => typeof fault === 'string');

if (options.help || faults.length > 0) {
  for (const fault of faults) console.error(`${fault}\n`);
  console.log(USAGE);
  process.exit(options.help ? 0 : 2);
}

const results = fileURLToPath(new URL('results/', import.meta.url));
// Beside the results and not in the system's temporary directory, which may lie in memory: a commit there costs nothing.
const dir = `${results}${process.pid}.tmp`;
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => stop.abort(new Error('stopped')));
}

const effort = options.quick ? QUICK : FULL;
const started = performance.now();
const bench: Bench = {
  effort,
  connections,
  dir,
  signal: stop.signal,
  before,
  progress: (text) => console.error(`[${((performance.now() - started) / 1000).toFixed(0).padStart(4)} s] ${text}`),
};

/** A measurement that fails is reported like one; the others go on. */
const measure = async (name: string): Promise<Section> => {
  try {
    return await (MEASUREMENTS[name] as (bench: Bench) => Promise<Section>)(bench);
  } catch (error) {
    if (stop.signal.aborted) throw error;
    bench.progress(`${name} failed: ${reasonOf(error)}`);
    return { name, title: name, columns: [], rows: [], goals: [], notes: [], data: null, errors: [reasonOf(error)] };
  }
};

mkdirSync(dir, { recursive: true });
const sections: Section[] = [];
try {
  for (const name of chosen) sections.push(await measure(name));
} catch (error) {
  if (!stop.signal.aborted) throw error;
  console.error('Stopped: nothing was written.');
  process.exitCode = 130;
} finally {
  rmSync(dir, { recursive: true, force: true });
}
if (stop.signal.aborted) process.exit();

const circumstances: Circumstances = {
  date: new Date().toISOString(),
  commit: commitOf(THIS_CHECKOUT),
  node: process.versions.node,
  platform: `${process.platform} ${process.arch}`,
  cpus: availableParallelism(),
  rounds: effort.rounds,
  connections,
  quick: options.quick,
};
const text = toMarkdown(circumstances, sections);
writeFileSync(`${results}latest.md`, text);
writeFileSync(`${results}latest.json`, toJson(circumstances, sections));
console.log(`\n${text}`);

const isClean = sections.every(
  ({ goals, errors }) => errors.length === 0 && goals.every((goal) => verdictOf(goal) !== 'missed'),
);
if (options.check && !isClean) process.exitCode = 1;
