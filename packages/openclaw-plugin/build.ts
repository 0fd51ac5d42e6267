// Makes dist/: the plugin and everything it stands on, in a few files that need nothing beside them. OpenClaw installs
// it without asking a registry, and runs it from a copy that it makes anew at every start. Beside it the licenses of
// whatever ended up in there.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { type Plugin, rolldown } from 'rolldown';

import { licensesOf } from './licenses.ts';

const here = import.meta.dirname;
const source = join(here, '../sealane/src');

/** What a plugin of the Gateway has no use for: a store of its own elsewhere, a port of its own. */
const LEFT_OUT = ['#grpc', './postgres/index.ts'];
const EMPTY = '\0left-out';

const leavingOut: Plugin = {
  name: 'leaving-out',
  resolveId: (name) => (LEFT_OUT.includes(name) ? EMPTY : null),
  load: (id) => (id === EMPTY ? "throw new Error('This is not part of the plugin.');" : null),
};

rmSync(join(here, 'dist'), { recursive: true, force: true });
const bundle = await rolldown({
  input: { index: join(here, 'src/index.ts'), 'sqlite-worker': join(source, 'store/sqlite/sqlite-worker.ts') },
  platform: 'node',
  resolve: { conditionNames: ['sealane:source', 'node', 'import', 'default'] },
  // OpenClaw's own modules are there when it loads us. Spans are its business.
  external: [/^node:/, /^openclaw\//, '@opentelemetry/sdk-node'],
  plugins: [leavingOut],
});
const { output } = await bundle.write({
  dir: join(here, 'dist'),
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: '[name]-[hash].js',
});
await bundle.close();

const modules = output.flatMap((file) => (file.type === 'chunk' ? Object.keys(file.modules) : []));
writeFileSync(join(here, 'THIRD_PARTY_LICENSES.txt'), licensesOf(modules));
