import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

import { describe, expect, it } from 'vitest';

const SRC = join(import.meta.dirname, '../packages/sealane/src');

/**
 * Who may import whom. A module is a folder of `src`; the files beside them (`compose.ts`, `sealane.ts`, `index.ts`)
 * are the composition root, which knows everybody and is known by the command line alone.
 */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  domain: [],
  store: ['domain'],
  agents: ['domain'],
  engine: ['domain', 'store', 'agents'],
  identity: ['domain', 'store', 'engine', 'agents'],
  protocol: ['domain', 'store', 'engine', 'agents'],
  http: ['domain', 'store', 'engine', 'agents', 'identity', 'protocol'],
  grpc: ['domain', 'engine', 'agents', 'identity', 'protocol'],
  push: ['domain', 'store', 'engine'],
  observability: ['domain', 'store', 'engine', 'http', 'push'],
  config: ['domain', 'store', 'agents'],
  cli: ['domain', 'store', 'agents', 'config', '(root)'],
  views: ['domain', 'store', 'agents', 'engine'],
  testing: ['domain', 'store', 'agents', 'engine'],
};

/** The engine, and what sits on it, knows the ports and no implementation of them. */
const PORTS_ONLY = ['engine', 'identity', 'protocol', 'http', 'grpc', 'push', 'observability', 'views'];

interface Import {
  readonly file: string;
  readonly from: string;
  readonly specifier: string;
}

const moduleOf = (file: string): string => {
  const [head = '', ...rest] = relative(SRC, file).split('/');
  return rest.length === 0 ? '(root)' : head;
};

const isTest = (file: string): boolean => /\.(test|fixture|test-support)\.ts$/.test(file);

const imports: readonly Import[] = globSync('**/*.ts', { cwd: SRC })
  .map((file) => join(SRC, file))
  .filter((file) => !isTest(file))
  .flatMap((file) =>
    [
      ...readFileSync(file, 'utf8').matchAll(
        /(?:^|\n)\s*(?:import|export)[^'"`;]*?from\s+'([^']+)'|import\('([^']+)'\)/g,
      ),
    ].map((match) => ({
      file,
      from: moduleOf(file),
      specifier: match[1] ?? match[2] ?? '',
    })),
  );

const targetOf = ({ file, specifier }: Import): string | undefined => {
  if (specifier.startsWith('#')) return specifier.slice(1).split('/')[0];
  if (specifier.startsWith('.')) return moduleOf(join(dirname(file), specifier));
  return undefined;
};

const show = ({ file, specifier }: Import): string => `${relative(SRC, file)} → ${specifier}`;

describe('the architecture', () => {
  it('knows every module', () => {
    const known = [...Object.keys(MAY_IMPORT), '(root)'];
    expect([...new Set(imports.map(({ from }) => from))].filter((name) => !known.includes(name))).toEqual([]);
  });

  it.each(Object.entries(MAY_IMPORT))('%s imports only what it may', (module, allowed) => {
    const wrong = imports.filter((found) => {
      const target = targetOf(found);
      return found.from === module && target !== undefined && target !== module && !allowed.includes(target);
    });
    expect(wrong.map(show)).toEqual([]);
  });

  it('crosses modules by name, not by path', () => {
    const wrong = imports.filter(
      (found) =>
        found.specifier.startsWith('.') &&
        found.from !== '(root)' &&
        targetOf(found) !== found.from &&
        targetOf(found) !== '(root)',
    );
    expect(wrong.map(show)).toEqual([]);
  });

  it('keeps implementations of the ports out of the engine and what sits on it', () => {
    const wrong = imports.filter(
      ({ from, specifier }) => PORTS_ONLY.includes(from) && /^#(store|agents)\/(?!index)/.test(specifier),
    );
    expect(wrong.map(show)).toEqual([]);
  });

  it('has no file that imports itself by way of others, not even for a type', () => {
    const fileOf = ({ file, specifier }: Import): string | undefined => {
      if (specifier.startsWith('.')) return join(dirname(file), specifier);
      const path = join(SRC, specifier.slice(1));
      if (!specifier.startsWith('#')) return undefined;
      return [`${path}.ts`, join(path, 'index.ts')].find((candidate) => existsSync(candidate));
    };
    const importedBy = new Map<string, string[]>();
    for (const found of imports) {
      const target = fileOf(found);
      if (target !== undefined) importedBy.set(found.file, [...(importedBy.get(found.file) ?? []), target]);
    }
    const done = new Set<string>();
    const cycles: string[] = [];
    const visit = (file: string, path: readonly string[]): void => {
      if (path.includes(file)) {
        cycles.push([...path.slice(path.indexOf(file)), file].map((each) => relative(SRC, each)).join(' → '));
        return;
      }
      if (done.has(file)) return;
      for (const next of importedBy.get(file) ?? []) visit(next, [...path, file]);
      done.add(file);
    };
    for (const file of importedBy.keys()) visit(file, []);
    expect(cycles).toEqual([]);
  });

  it('keeps the domain pure: no packages, no Node', () => {
    expect(imports.filter(({ from, specifier }) => from === 'domain' && !specifier.startsWith('.')).map(show)).toEqual(
      [],
    );
  });
});
