import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { setUpCli, type CliSetup } from '../cli-harness.fixture.ts';

interface SystemTools extends Disposable {
  /** Puts the tools before all others. */
  readonly env: NodeJS.ProcessEnv;
  /** What was called, each with its words, and nothing that was called before. */
  newCalls(): readonly string[];
  /** Changes how the tools behave: `no-bus`, `no-gui`, `linger`, or the `environment` that systemd tells. */
  set(name: string, content?: string): void;
}

const TOOL = fileURLToPath(new URL('fake-tool.fixture.ts', import.meta.url));

/** Programs that answer like those of the system, for tests that must not touch it. */
const setUpSystemTools = (): SystemTools => {
  const folder = mkdtempSync(join(tmpdir(), 'sealane-tools-'));
  for (const name of ['systemctl', 'journalctl', 'loginctl', 'launchctl']) {
    writeFileSync(join(folder, name), `#!/bin/sh\nexec '${process.execPath}' '${TOOL}' ${name} "$@"\n`, {
      mode: 0o755,
    });
  }
  const read = (name: string): string => {
    try {
      return readFileSync(join(folder, name), 'utf8');
    } catch {
      return '';
    }
  };
  let seen = 0;
  return {
    env: { PATH: `${folder}:${process.env.PATH}`, FAKE_TOOLS: folder },
    newCalls: () => {
      const calls = read('calls').split('\n').slice(0, -1);
      const added = calls.slice(seen).map((line) => (JSON.parse(line) as string[]).join(' '));
      seen = calls.length;
      return added;
    },
    set: (name, content = '') => writeFileSync(join(folder, name), content),
    [Symbol.dispose]: () => {
      const pid = Number(read('pid'));
      try {
        // A test that failed leaves no service behind.
        if (pid > 0) process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended already.
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
};

export const freePort = async (): Promise<number> => {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => void probe.close(resolve));
  return port;
};

export const unitOf = (cli: CliSetup): string => join(cli.home, '.config/systemd/user/sealane.service');

/** The command line beside the tools of a system; `platform` is what Node says it runs on. */
export const setUpSystem = (platform = 'linux') => {
  const tools = setUpSystemTools();
  const cli = setUpCli();
  const asPlatform = `data:text/javascript,Object.defineProperty(process,'platform',{value:'${platform}'})`;
  const env = { ...tools.env, ...(platform !== process.platform && { NODE_OPTIONS: `--import=${asPlatform}` }) };
  return {
    tools,
    cli,
    service: (words: readonly string[], more: NodeJS.ProcessEnv = {}) =>
      cli.run(['service', ...words], { env: { ...env, ...more } }),
    [Symbol.dispose]: () => {
      tools[Symbol.dispose]();
      cli[Symbol.dispose]();
    },
  };
};

export const isAnswering = (url: string) =>
  fetch(`${url}/readyz`).then(
    ({ status }) => status === 200,
    () => false,
  );
