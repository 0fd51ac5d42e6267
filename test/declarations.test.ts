import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

import { expect, it } from 'vitest';

import { freshFolder } from './support/served-process.ts';

const PACKAGE = join(import.meta.dirname, '../packages/sealane');
const TSC = join(import.meta.dirname, '../node_modules/typescript/bin/tsc');

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
}

/** The packages that a declaration and all those that it imports speak of. */
const packagesOf = (entry: string, dist: string): ReadonlySet<string> => {
  const found = new Set<string>();
  const seen = new Set<string>();
  const fileOf = (from: string, name: string): string => {
    if (name.startsWith('.')) return join(dirname(from), name.replace(/\.[jt]s$/, '.d.ts'));
    const path = join(dist, name.slice(1));
    return existsSync(`${path}.d.ts`) ? `${path}.d.ts` : join(path, 'index.d.ts');
  };
  const follow = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(/(?:from|import\()\s*['"]([^'"]+)['"]/g)) {
      if (name.startsWith('.') || name.startsWith('#')) follow(fileOf(file, name));
      else if (!name.startsWith('node:')) found.add(/^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name);
    }
  };
  follow(entry);
  return found;
};

it('what is published can be compiled against without any package that does not come with it', async () => {
  using folder = freshFolder();
  const build = ['-p', join(PACKAGE, 'tsconfig.build.json'), '--emitDeclarationOnly', '--outDir', folder.path];
  await promisify(execFile)(process.execPath, [TSC, ...build]);
  const { dependencies, exports } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8')) as Manifest;
  const entries = Object.entries(exports).filter(([, target]) => typeof target !== 'string');
  expect(entries.length).toBeGreaterThan(3);
  for (const [name, target] of entries) {
    const types = (target as { readonly types: string }).types.replace('./dist', folder.path);
    for (const found of packagesOf(types, folder.path)) {
      expect(Object.keys(dependencies), `the types of sealane${name.slice(1)}`).toContain(found);
      // Its types are a package of their own, which is not among them.
      expect(found, `the types of sealane${name.slice(1)}`).not.toBe('pg');
    }
  }
});
