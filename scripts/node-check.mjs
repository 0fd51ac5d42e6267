// Runs before every script: npm puts node_modules/.bin first, where a Node 24 lies on Linux and Windows.
// This file must stay readable by very old versions of Node.
var major = Number(process.versions.node.split('.')[0]);
if (major < 24) {
  console.error(
    'Sealane needs Node 24 or later; this is Node ' +
      process.versions.node +
      '.\n' +
      (process.platform === 'darwin'
        ? 'On macOS install it once (https://nodejs.org, or `brew install node@24`) and run this again.'
        : 'Run `npm ci` first: it brings Node 24 along, then use `npm start`, `npm test` or `npx sealane`.'),
  );
  process.exit(1);
}
