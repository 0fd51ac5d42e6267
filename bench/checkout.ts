import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The checkout that this benchmark belongs to. */
export const THIS_CHECKOUT = fileURLToPath(new URL('..', import.meta.url));

/** The program that starts the service of a checkout. */
export const serviceIn = (checkout: string): string => join(checkout, 'packages/sealane/bin/sealane.mjs');

/** Says why the service of a checkout cannot be started; `undefined` when it can. */
export const faultOfCheckout = (checkout: string): string | undefined => {
  if (!existsSync(serviceIn(checkout)))
    return `"${checkout}" is no checkout of Sealane: it has no packages/sealane/bin.`;
  if (!existsSync(join(checkout, 'node_modules'))) return `"${checkout}" has no node_modules. Run \`npm ci\` there.`;
  return undefined;
};

/** The commit of a checkout; `undefined` when it is not under git. */
export const commitOf = (checkout: string): string | undefined => {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], {
      cwd: checkout,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return undefined;
  }
};
