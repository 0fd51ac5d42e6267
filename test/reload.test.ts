import { execFileSync } from 'node:child_process';
import { rmSync, utimesSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { answerOf, refusalOf } from './support/a2a-client.ts';
import { eventually } from './support/eventually.ts';
import { freshFolder, serve, type ServedProcess } from './support/served-process.ts';

const ECHO = 'echo: { connector: echo, default: true }';

it('a changed configuration is taken in without a restart, and what runs goes on', async () => {
  using folder = freshFolder();
  const file = join(folder.path, 'sealane.yaml');
  const marker = join(folder.path, 'go-on');
  const slow = `slow: { connector: command, command: [sh, -c, "while [ ! -e '${marker}' ]; do sleep 0.05; done; echo done"] }`;
  await using service = await serve(folder.path, { config: `agents: { ${ECHO}, ${slow} }\n` });
  const { client } = service;
  const made = await service.admin.post<{ key: string }>('/keys', { name: 'hermes' });
  const hermes = client.with({ key: made.key });
  const running = await client.with({ path: '/agents/slow' }).submit('work');
  await expect(client.with({ path: '/agents/upper' }).send('hello')).rejects.toMatchObject({ code: -32012 });

  // One agent comes, one goes while it works, and a key is limited.
  const upper = 'upper: { connector: command, command: [tr, a-z, A-Z] }';
  writeFileSync(file, `agents: { ${ECHO}, ${upper} }\nkeys: { hermes: { agents: [upper] } }\n`);
  const shouted = await eventually(() => client.with({ path: '/agents/upper' }).send('hello'));
  expect(answerOf(shouted).trim()).toBe('HELLO');
  expect((await refusalOf(hermes.send('hello'))).code).toBe(-32011);
  expect((await client.get(running.id)).status.state).toBe('TASK_STATE_WORKING');
  writeFileSync(marker, '');
  await eventually(async () => expect((await client.get(running.id)).status.state).toBe('TASK_STATE_COMPLETED'));
  expect(answerOf(await client.get(running.id)).trim()).toBe('done');
  rmSync(marker);
});

describe('a configuration that cannot be used is told in the log and changes nothing', () => {
  const upper = 'upper: { connector: command, command: [tr, a-z, A-Z], default: true }';
  const folder = freshFolder();
  const file = join(folder.path, 'sealane.yaml');
  let service: ServedProcess;
  beforeAll(async () => {
    service = await serve(folder.path, { config: `agents: { ${upper} }\n` });
    // Whoever answers has had the time to begin watching its file.
    await service.client.send('hello');
  });
  afterAll(async () => {
    await service.kill();
    folder[Symbol.dispose]();
  });
  let told = 0;
  /** Looks at what has been logged since it looked last. */
  const isTold = async (words: string): Promise<void> => {
    await eventually(() => expect(service.log().slice(told)).toContain(words));
    told = service.log().length;
  };
  const answer = async (): Promise<string> => answerOf(await service.client.send('hello')).trim();

  it('because it is wrong', async () => {
    writeFileSync(file, 'agents: { echo: { connector: ecko } }\n');
    await isTold('the changed configuration is not used');
    writeFileSync(file, 'agents: *nope\n');
    await isTold('sealane.yaml:1: has the alias *nope');
    // What is wrong is in the file, and nothing in our code helps to find it.
    expect(service.log()).not.toContain('    at ');
    expect(await answer()).toBe('HELLO');
  });

  it('because it is gone', async () => {
    rmSync(file);
    await isTold('the service goes on as it was');
    expect(await answer()).toBe('HELLO');
  });

  it.runIf(process.platform !== 'win32')('because a pipe is in its place, for which nobody waits', async () => {
    execFileSync('mkfifo', [file]);
    await isTold('sealane.yaml: is a pipe, not a file');
    expect(await answer()).toBe('HELLO');
    rmSync(file);
    execFileSync('mkfifo', [join(folder.path, 'token')]);
    writeFileSync(
      file,
      `agents: { ${ECHO}, main: { connector: command, command: [cat], env: { A: 'file:token' } } }\n`,
    );
    await isTold('token, which is a pipe: name a file');
    expect(await answer()).toBe('HELLO');
  });

  it('until one is there that can be used', async () => {
    writeFileSync(file, `agents: { ${ECHO} }\n`);
    await eventually(async () => expect(await answer()).toBe('hello'));
    expect(await service.stop()).toBe(0);
  });
});

it.runIf(process.platform !== 'win32')('a configuration that came through a pipe is read once', async () => {
  using folder = freshFolder();
  const settings = join(folder.path, 'settings');
  execFileSync('mkfifo', [settings]);
  const upper = 'upper: { connector: command, command: [tr, a-z, A-Z], default: true }';
  const said = writeFile(settings, `agents: { ${upper} }\n`);
  await using service = await serve(folder.path, { args: ['--config', settings] });
  await said;
  expect(answerOf(await service.client.send('hello')).trim()).toBe('HELLO');
  // As if somebody had written into it once more.
  utimesSync(settings, new Date(), new Date());
  await eventually(() => expect(service.log()).toContain('took in the changed configuration'));
  expect(answerOf(await service.client.send('hello')).trim()).toBe('HELLO');
  expect(await service.stop()).toBe(0);
});
