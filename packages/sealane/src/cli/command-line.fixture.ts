import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { vi } from 'vitest';

import { TEST_KEY, type CliRun } from './cli-harness.fixture.ts';
import { runCommandLine } from './command-line.ts';
import { rememberPlace } from './command-name.ts';

export interface CommandLine extends Disposable {
  readonly home: string;
  /** One call at a time: it uses the environment, the folder and the standard streams of this process. */
  run(args: readonly string[], options?: { readonly env?: NodeJS.ProcessEnv }): CliRun['done'];
}

/**
 * The real command line inside the test's process, for tests of what a command asks the service, prints and sets as its
 * exit code: a process of its own takes fifty times as long. Tests of signals, pipes, standard input and of how a process
 * ends use `setUpCli`. It has a home folder of its own, unless it shares one: `setUpCommandLine(cli)`.
 */
export const setUpCommandLine = (where: { readonly url?: string; readonly home?: string } = {}): CommandLine => {
  const { url, home = mkdtempSync(join(tmpdir(), 'sealane-line-')) } = where;
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(sealane|npm)_/i.test(name)));
  return {
    home,
    run: async (args, { env = {} } = {}) => {
      using _process = borrowProcess(home, {
        ...inherited,
        HOME: home,
        NO_COLOR: '1',
        ...(url !== undefined && { SEALANE_URL: url, SEALANE_API_KEY: TEST_KEY }),
        ...env,
      });
      using stdout = capture(process.stdout);
      using stderr = capture(process.stderr);
      rememberPlace({});
      await runCommandLine(args, '1.2.3');
      const { exitCode } = process;
      return { code: typeof exitCode === 'number' ? exitCode : 0, stdout: stdout.text(), stderr: stderr.text() };
    },
    [Symbol.dispose]: () => {
      if (where.home === undefined) rmSync(home, { recursive: true, force: true });
    },
  };
};

/** Changes what a new process would find, until it is disposed. */
const borrowProcess = (folder: string, env: NodeJS.ProcessEnv): Disposable => {
  const { exitCode } = process;
  const before = { folder: process.cwd(), env: { ...process.env } };
  const change = (to: typeof before): void => {
    process.chdir(to.folder);
    for (const name of Object.keys(process.env)) if (to.env[name] === undefined) delete process.env[name];
    Object.assign(process.env, to.env);
  };
  change({ folder, env });
  process.exitCode = undefined;
  return {
    [Symbol.dispose]: () => {
      change(before);
      process.exitCode = exitCode;
    },
  };
};

/** Collects what is written to a standard stream, until it is disposed. */
const capture = (stream: NodeJS.WriteStream): Disposable & { text(): string } => {
  const chunks: Buffer[] = [];
  const spy = vi.spyOn(stream, 'write').mockImplementation((chunk) => chunks.push(Buffer.from(chunk)) > 0);
  return {
    text: () => Buffer.concat(chunks).toString(),
    [Symbol.dispose]: () => {
      spy.mockRestore();
    },
  };
};
