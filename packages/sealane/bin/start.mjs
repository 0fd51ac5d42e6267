// Runs the built files, or in a checkout whose sources are younger than its build, the sources: what was edited last is
// what runs. The published package has built files only.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';

const sources = fileURLToPath(new URL('../src', import.meta.url));
const built = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));

const isBuildCurrent = () => {
  if (!existsSync(built)) return false;
  if (!existsSync(sources)) return true;
  const builtAt = statSync(built).mtimeMs;
  // Folders count as well: they change when a file is removed.
  return readdirSync(sources, { recursive: true }).every(
    (name) => /\.(test|fixture)\.ts$/.test(name) || statSync(join(sources, name)).mtimeMs <= builtAt,
  );
};

// Parsing (and in a checkout, stripping) a few hundred files at each start costs time, and stripping costs memory that is
// never given back: about 30 MB, and half as much again in each thread. With the cache both are paid once. The folder
// is the user's own, because what lies in it is executed; threads learn of it by the variable. A folder that cannot be
// written does no harm.
try {
  process.env.NODE_COMPILE_CACHE ||= join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'sealane');
  enableCompileCache(process.env.NODE_COMPILE_CACHE);
} catch {
  // A user that the system does not know, as containers have them, has no folder of its own.
}

// What Node should know of a service. Flags have to be there when the process starts, so it becomes itself once more, with
// them. And the C library would give nearly every thread an arena of memory of its own: two for all of them
// are 3 MB less. What the process has read at its start is not handed on to the programs that it starts.
const FLAGS = [
  // Under load a service makes much that is garbage a moment later: a larger nursery is cleaned less often. It grows when
  // it is needed and not before.
  '--max-semi-space-size=32',
  // From what survives while the nursery is still small V8 would conclude that requests live long, and make parts of them
  // old from birth on. Each keeps what it refers to, one to three kilobytes of a request, until the next full collection,
  // and cleaning the nursery takes some five milliseconds instead of one.
  '--no-allocation-site-pretenuring',
  // V8 would give back all the memory it can after a pause of eight seconds, and with it the compiled code of everything
  // that nobody was just using, so that the first second after each pause would run at a third of the speed: five minutes
  // are early enough.
  '--gc-memory-reducer-start-delay-ms=300000',
  // SIGUSR1 would open a debugger to every user of this machine, without a key.
  '--disable-sigusr1',
];
const isServing = process.argv.includes('serve', 2);
if (isServing && process.execve && process.platform !== 'win32' && !process.execArgv.includes(FLAGS[0])) {
  const arenas = process.env.MALLOC_ARENA_MAX === undefined && { MALLOC_ARENA_MAX: '2', SEALANE_ARENAS: 'own' };
  process.execve(process.execPath, [process.execPath, ...FLAGS, ...process.execArgv, ...process.argv.slice(1)], {
    ...process.env,
    ...arenas,
  });
}
if (process.env.SEALANE_ARENAS === 'own') {
  delete process.env.SEALANE_ARENAS;
  delete process.env.MALLOC_ARENA_MAX;
}

// Loading fills the nursery of the heap with what is garbage a moment later, and a nursery that has grown stays resident.
// It may grow again when the service has started (see `serve`).
setFlagsFromString('--semi-space-growth-factor=1');

if (isBuildCurrent()) {
  await import('../dist/cli/main.js');
} else {
  await import('./source-hooks.mjs');
  await import('../src/cli/main.ts');
}
