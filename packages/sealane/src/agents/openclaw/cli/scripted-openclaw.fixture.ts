import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** One start of the program, as it saw it. */
export interface ScriptedStart {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly pid: number;
  /** What a message file held. */
  readonly file?: string;
}

/** A program in the place of `openclaw`, for what the real one does rarely or takes long to do. */
export interface ScriptedOpenclaw extends Disposable {
  readonly path: string;
  readonly directory: string;
  starts(): readonly ScriptedStart[];
}

/** It notes how it was started and, by its environment, prints STDOUT and STDERR, waits for WAIT_MS, and ends with EXIT. */
const SOURCE = `
import { appendFileSync, readFileSync } from 'node:fs';
const args = process.argv.slice(2);
const named = args.find((arg) => arg.startsWith('--message-file='));
const file = named && readFileSync(named.slice(named.indexOf('=') + 1), 'utf8');
appendFileSync(new URL('starts.jsonl', import.meta.url), JSON.stringify({ args, env: process.env, pid: process.pid, file }) + '\\n');
const { STDOUT = '', STDERR = '', WAIT_MS = '0', EXIT = '0' } = process.env;
setTimeout(() => {
  process.stderr.write(STDERR);
  process.stdout.write(args[0] === '--version' ? 'OpenClaw 2026.9.6 (abc)\\n' : STDOUT);
  process.exitCode = Number(EXIT);
}, Number(WAIT_MS));
`;

export const openScriptedOpenclaw = (): ScriptedOpenclaw => {
  const directory = mkdtempSync(join(tmpdir(), 'sealane-scripted-'));
  const path = join(directory, 'openclaw.mjs');
  const record = join(directory, 'starts.jsonl');
  writeFileSync(path, `#!${process.execPath}\n${SOURCE}`);
  chmodSync(path, 0o755);
  return {
    path,
    directory,
    starts: () => {
      if (!existsSync(record)) return [];
      const lines = readFileSync(record, 'utf8').trim().split('\n');
      return lines.map((line) => JSON.parse(line) as ScriptedStart);
    },
    [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }),
  };
};
