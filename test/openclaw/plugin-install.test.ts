import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';

import { type A2aClient, createA2aClient } from '../support/a2a-client.ts';
import { createAdminClient } from '../support/admin-client.ts';
import { eventually } from '../support/eventually.ts';
import { type FakeModel, startFakeModel } from './fake-model.ts';
import { type CommandOutcome, type GatewayProcess, openGateway } from './gateway-process.ts';
import { pluginReady } from './plugin-world.ts';

/** What users do with the tarball, one after the other, on one OpenClaw. No registry can be reached. */
const tarball = inject('pluginTarball');
let model: FakeModel;
let gateway: GatewayProcess;
let client: A2aClient;
let first: string;

beforeAll(async () => {
  model = await startFakeModel();
  gateway = await openGateway({ modelUrl: model.url, started: false });
});

afterAll(async () => {
  await gateway?.close();
  await model?.close();
});

const install = (what: string): Promise<CommandOutcome> =>
  gateway.openclaw('plugins', 'install', what, '--force', '--accept-capabilities');

const url = (): string => `${gateway.httpUrl}/a2a`;

const key = (): string => readFileSync(join(gateway.home, 'state/data/a2a-tasks.key'), 'utf8').trim();

const state = (pattern: string): readonly string[] => globSync(pattern, { cwd: join(gateway.home, 'state') });

const starts = (): number => gateway.log().match(/a2a-tasks: ready at/g)?.length ?? 0;

const ids = async (): Promise<readonly string[]> => (await client.list()).tasks.map(({ id }) => id);

describe('the packed plugin', () => {
  it('is installed from the tarball itself while the Gateway is stopped, and answers after its start', async () => {
    const { code, output } = await install(tarball);
    expect(code, output).toBe(0);
    await gateway.start();
    await pluginReady(url());
    client = createA2aClient({ url: url(), key: key(), path: '' });
    const task = await client.send('the first');
    expect(task.status.state).toBe('TASK_STATE_COMPLETED');
    first = task.id;
  });

  it('is replaced while the Gateway runs, by npm-pack: as well, and keeps its tasks and its key', async () => {
    const before = starts();
    const { code, output } = await install(`npm-pack:${tarball}`);
    expect(code, output).toBe(0);
    expect(output).toContain('Applied in Gateway generation');
    await eventually(() => expect(starts()).toBeGreaterThan(before), 60_000);
    await pluginReady(url());
    expect(await ids()).toContain(first);
    expect((await client.send('the second')).status.state).toBe('TASK_STATE_COMPLETED');
  });

  it('lets go of its database at every reload, also when two come one upon the other', async () => {
    const file = join(gateway.home, 'openclaw.json');
    const original = readFileSync(file, 'utf8');
    const config = JSON.parse(original) as { plugins: { entries: Record<string, object> } };
    const detected = (): number => gateway.log().match(/config change detected/g)?.length ?? 0;
    for (const concurrency of [3, 5]) {
      config.plugins.entries['a2a-tasks'] = { enabled: true, config: { concurrency } };
      const before = detected();
      writeFileSync(file, JSON.stringify(config, undefined, 2));
      // The second comes while the first is still being taken in.
      await eventually(() => expect(detected()).toBeGreaterThan(before), 60_000);
    }
    await eventually(async () => {
      const { agents } = await createAdminClient(url(), key()).get<{ agents: { concurrency: number }[] }>('/info');
      expect(agents[0]?.concurrency).toBe(5);
    }, 60_000);
    expect((await client.send('still there')).status.state).toBe('TASK_STATE_COMPLETED');
    expect(gateway.log()).not.toMatch(/a2a-tasks.*(locked|in use)/i);
  });

  it('writes nothing beside its code: all that it keeps is in the data folder', () => {
    const kept = state('**/a2a-tasks*').filter((path) => !/^(data|extensions)\//.test(path));
    expect(kept.filter((path) => /\.(db|key|lock|pid)/.test(path))).toEqual([]);
    expect(state('data/*').map((path) => path.replace(/\.db.*$/, '.db'))).toEqual(
      expect.arrayContaining(['data/a2a-tasks.db', 'data/a2a-tasks.key']),
    );
    const packed = execFileSync('tar', ['-tzf', tarball], { encoding: 'utf8' }).split('\n');
    const installed = state('npm/projects/*/node_modules/@sealane/openclaw-plugin/**/*.*').map((path) =>
      path.replace(/^.*openclaw-plugin\//, ''),
    );
    expect(installed.filter((path) => !packed.includes(`package/${path}`))).toEqual([]);
  });

  it('leaves its database when it is uninstalled', async () => {
    const { code, output } = await gateway.openclaw('plugins', 'uninstall', 'a2a-tasks', '--force');
    expect(code, output).toBe(0);
    expect((await fetch(`${url()}/readyz`)).headers.get('content-type')).not.toContain('json');
    expect(state('data/*')).toEqual(expect.arrayContaining(['data/a2a-tasks.db', 'data/a2a-tasks.key']));
  });
});
