// A checkout runs its sources, so that what is edited is what runs; the published package has only the built files.
import { existsSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';

// Without a cache, every start parses (and in a checkout strips) a few hundred files. The folder is the user's own:
// what lies in it is executed. A folder that cannot be written costs only the time.
if (!process.env.NODE_COMPILE_CACHE) {
  enableCompileCache(join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'sealane'));
}

if (existsSync(new URL('../src/cli/main.ts', import.meta.url))) {
  await import('./source-hooks.mjs');
  await import('../src/cli/main.ts');
} else {
  await import('../dist/cli/main.js');
}
