import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** The tarball that users install. */
    readonly pluginTarball: string;
  }
}

const PACKAGE = fileURLToPath(new URL('../../packages/openclaw-plugin', import.meta.url));

/** Once for all tests: packing makes dist/ anew, and two at a time would take it from under each other. */
export default async (project: TestProject): Promise<() => void> => {
  const folder = mkdtempSync(join(tmpdir(), 'sealane-plugin-'));
  const words = ['pack', '--json', '--silent', '--pack-destination', folder];
  const { stdout } = await promisify(execFile)('npm', words, { cwd: PACKAGE });
  const [{ filename }] = JSON.parse(stdout.slice(stdout.indexOf('['))) as [{ filename: string }];
  project.provide('pluginTarball', join(folder, filename));
  return () => rmSync(folder, { recursive: true });
};
