import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const run = promisify(execFile);

interface Block {
  readonly language: string;
  readonly text: string;
}

const blocksOf = (markdown: string): readonly Block[] =>
  [...markdown.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language = '', text = '']) => ({ language, text }));

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() =>
        typeof address === 'object' && address ? resolve(address.port) : reject(new Error('no port')),
      );
    });
  });

/** The README, followed word by word in a home folder of its own; only the port differs, since 7420 may be taken. */
describe('the README', () => {
  let home = '';
  let port = 0;
  let blocks: readonly Block[] = [];
  let service: ReturnType<typeof spawn> | undefined;

  const shell = async (text: string): Promise<string> => {
    const env = { ...process.env, HOME: home, SEALANE_PORT: String(port), XDG_CACHE_HOME: join(home, 'cache') };
    return (await run('bash', ['-euo', 'pipefail', '-c', text.replaceAll('7420', String(port))], { cwd: ROOT, env }))
      .stdout;
  };

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'sealane-readme-'));
    port = await freePort();
    blocks = blocksOf(await readFile(join(ROOT, 'README.md'), 'utf8'));
    service = spawn('npm', ['start'], {
      cwd: ROOT,
      env: { ...process.env, HOME: home, SEALANE_PORT: String(port), XDG_CACHE_HOME: join(home, 'cache') },
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    });
    await new Promise<void>((resolve, reject) => {
      let said = '';
      service?.stdout?.on('data', (chunk: Buffer) => {
        said += chunk.toString();
        if (said.includes(`sealane ready on http://127.0.0.1:${port}\n`)) resolve();
      });
      service?.once('exit', () => reject(new Error(`npm start ended: ${said}`)));
    });
  });

  afterAll(async () => {
    // npm, its shell and the service are one process group; npm ends before the service has closed its files.
    const group = service?.pid;
    if (group !== undefined) {
      const isGone = (): boolean => {
        try {
          return !process.kill(-group, 0);
        } catch {
          return true;
        }
      };
      if (!isGone()) process.kill(-group, 'SIGTERM');
      while (!isGone()) await delay(50);
    }
    await rm(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  });

  it('names the two commands', () => {
    const commands = blocks.filter(({ language }) => language === 'console').map(({ text }) => text.trim());
    expect(commands).toContain('npm ci && npm start');
    expect(commands).toContain('npm ci && npm test');
  });

  it('every sh block works as written, and prints what the next block shows', async () => {
    const shown = [...blocks.entries()].filter(([, { language }]) => language === 'sh');
    expect(shown.length).toBeGreaterThanOrEqual(3);
    for (const [index, { text }] of shown) {
      const printed = await shell(text);
      const next = blocks[index + 1];
      if (next?.language === 'text') expect(printed).toBe(next.text);
      if (next?.language === 'json') expect(shapeOf(JSON.parse(printed))).toEqual(shapeOf(JSON.parse(next.text)));
    }
  });

  it('the program of the YAML block becomes an agent of the running service', async () => {
    const yaml = blocks.find(({ language }) => language === 'yaml');
    await writeFile(join(home, '.sealane', 'sealane.yaml'), yaml?.text ?? '');
    const console_ = blocks.find(({ text }) => text.startsWith('$ npx sealane send --agent'));
    const [command = '', ...answer] = (console_?.text ?? '').split('\n');
    await expect
      .poll(() => shell(command.slice(2)).catch(String), { timeout: 30_000, interval: 500 })
      .toBe(answer.join('\n'));
  });
});

/** Ids and times differ; names and kinds do not. */
const shapeOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shapeOf(inner)]));
  return typeof value;
};
