// Runs at the end of `npm ci` and `npm install`, with whatever Node the host has.
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync, symlinkSync } from 'node:fs';

const ownNode = `node_modules/node-${process.platform}-${process.arch}/bin/node`;

// Scripts find the Node that came along in `.bin`. Each platform's package has one of that name, and npm before 11 removes
// the link of the one that it keeps together with those of the others.
if (existsSync(ownNode) && !existsSync('node_modules/.bin/node')) {
  rmSync('node_modules/.bin/node', { force: true });
  symlinkSync(`../node-${process.platform}-${process.arch}/bin/node`, 'node_modules/.bin/node');
}

// Builds the package, so that `npm start` needs no type stripping, which costs memory and time at every start. A checkout
// that cannot be built still runs from its sources.
const node = existsSync(ownNode) ? ownNode : process.execPath;
const built =
  existsSync('packages/sealane/src') && existsSync('node_modules/typescript')
    ? spawnSync(node, ['node_modules/typescript/bin/tsc', '-p', 'packages/sealane/tsconfig.build.json'], {
        stdio: 'inherit',
      })
    : undefined;
if (built?.status !== 0) console.error('sealane: not built; it will run from its sources.');
