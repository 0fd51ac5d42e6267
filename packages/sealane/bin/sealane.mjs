#!/usr/bin/env node
// Starts the command line. This file must stay readable by very old versions of Node, so that they can be told apart:
// no static imports, no top-level await, no syntax younger than modules.
const major = Number(process.versions.node.split('.')[0]);

if (major < 24) {
  console.error(
    'Sealane needs Node 24 or later; this is Node ' +
      process.versions.node +
      '.\n' +
      (process.platform === 'darwin'
        ? 'Install it once (https://nodejs.org, or `brew install node@24`) and run this again.'
        : 'In a checkout run `npm ci`, then `npx sealane`, which bring their own; elsewhere install it from https://nodejs.org.'),
  );
  process.exitCode = 2;
} else {
  import('./start.mjs').catch((error) => {
    console.error(error);
    process.exitCode = 1;
  });
}
