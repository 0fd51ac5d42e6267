import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The OpenClaw that everything here was seen with. */
export const OPENCLAW_VERSION = '2026.9.6';

const FOLDER = fileURLToPath(new URL('../../.openclaw-test', import.meta.url));
const PACKAGE = join(FOLDER, 'node_modules/openclaw');

export const OPENCLAW_ENTRY = join(PACKAGE, 'openclaw.mjs');

const installedVersion = (): string | undefined => {
  const file = join(PACKAGE, 'package.json');
  if (!existsSync(file)) return undefined;
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
};

/**
 * Puts the real OpenClaw into a folder beside the project, once. It is no dependency of ours: nobody who installs
 * Sealane gets it, and it may have whatever dependencies it likes.
 */
export const installOpenclaw = async (): Promise<string> => {
  requireNode();
  if (installedVersion() === OPENCLAW_VERSION) return OPENCLAW_ENTRY;
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(join(FOLDER, 'package.json'), '{"name":"openclaw-for-tests","private":true}\n');
  console.log(`Installing openclaw@${OPENCLAW_VERSION} into .openclaw-test (about 650 MB, once) …`);
  const words = ['install', '--no-audit', '--no-fund', '--no-save', '--loglevel=error', `openclaw@${OPENCLAW_VERSION}`];
  const npm = spawn(process.execPath, [npmProgram(), ...words], {
    cwd: FOLDER,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const startedAt = Date.now();
  const progress = setInterval(
    () => console.log(`… still installing, ${Math.round((Date.now() - startedAt) / 1000)} s`),
    15_000,
  );
  try {
    const [code] = (await once(npm, 'exit')) as [number | null];
    if (code !== 0) throw new Error(`npm ended with ${code}. See what it printed above.`);
  } finally {
    clearInterval(progress);
  }
  if (installedVersion() !== OPENCLAW_VERSION) throw new Error(`npm did not install openclaw@${OPENCLAW_VERSION}.`);
  return OPENCLAW_ENTRY;
};

const requireNode = (): void => {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major > 24 || (major === 24 && minor >= 16)) return;
  throw new Error(`OpenClaw needs Node 24.16 or newer, and this is ${process.versions.node}. Run it by npm.`);
};

/** npm's program; `npm run` names it, and otherwise it lies beside Node. */
const npmProgram = (): string => {
  const named = process.env['npm_execpath'];
  if (named?.endsWith('.js')) return named;
  const beside = join(dirname(process.execPath), '../lib/node_modules/npm/bin/npm-cli.js');
  if (existsSync(beside)) return beside;
  return createRequire(import.meta.url).resolve('npm/bin/npm-cli.js');
};
