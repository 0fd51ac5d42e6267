// Runs at the end of `npm ci` and `npm install`: builds the package, so that `npm start` needs no type stripping, which
// costs memory and time at every start. A checkout that cannot be built still runs from its sources.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const built =
  existsSync('packages/sealane/src') && existsSync('node_modules/typescript')
    ? spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'packages/sealane/tsconfig.build.json'], {
        stdio: 'inherit',
      })
    : undefined;
if (built?.status !== 0) console.error('sealane: not built; it will run from its sources.');
