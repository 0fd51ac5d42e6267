import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { freshFolder } from './served-process.ts';

/** Another user, and the files from which that user runs the service. */
export interface OtherUser extends Disposable {
  readonly uid: number;
  /** The program `node`. */
  readonly node: string;
  /** The script `sealane`. */
  readonly bin: string;
}

const ROOT = dirname(dirname(import.meta.dirname));
const BIN = join('packages', 'sealane', 'bin', 'sealane.mjs');
const UID = 65_534;

/**
 * Root may write everywhere, so tests of what a service may not write run it as this user. Root's checkout often lies
 * in a folder that no other user may enter; then the user gets a copy of Node and of the service.
 */
export const createOtherUser = (): OtherUser => {
  const original = { uid: UID, node: process.execPath, bin: join(ROOT, BIN) };
  if (isRunnable(original)) return { ...original, [Symbol.dispose]: () => undefined };
  const folder = freshFolder();
  const copy = { uid: UID, node: join(folder.path, 'node'), bin: join(folder.path, BIN) };
  copyFileSync(process.execPath, copy.node);
  copyService(folder.path);
  execFileSync('chmod', ['-R', 'a+rX', folder.path]);
  if (isRunnable(copy)) return { ...copy, [Symbol.dispose]: () => folder[Symbol.dispose]() };
  folder[Symbol.dispose]();
  throw new Error(
    `User ${UID} cannot run Sealane from ${folder.path}. Set TMPDIR to a folder that all users may enter.`,
  );
};

const isRunnable = ({ uid, node, bin }: Omit<OtherUser, keyof Disposable>): boolean =>
  spawnSync(node, [bin, 'serve', '--help'], { uid, gid: uid, stdio: 'ignore' }).status === 0;

/** tar keeps timestamps, by which the service decides between its build and its sources. */
const copyService = (folder: string): void => {
  const wanted = ['--exclude=*.map', '--exclude=*.d.*ts', 'packages/sealane', ...runtimePackages()];
  const archive = execFileSync('tar', ['-cf', '-', '-C', ROOT, ...wanted], { maxBuffer: Infinity });
  execFileSync('tar', ['-xf', '-', '-C', folder], { input: archive });
};

/** What npm has installed for the service, without the packages that bring Node: the copy of the program is enough. */
const runtimePackages = (): readonly string[] => {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'node_modules', '.package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly dev?: boolean }>>;
  };
  const isWanted = (path: string): boolean => /^node_modules\/(?!node-)(@[^/]+\/)?[^/]+$/.test(path);
  return Object.entries(packages).flatMap(([path, { dev }]) => (isWanted(path) && dev !== true ? [path] : []));
};
