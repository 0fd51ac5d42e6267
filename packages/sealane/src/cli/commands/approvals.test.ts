import { expect, test } from 'vitest';

import { startScriptedService } from '../cli-harness.fixture.ts';
import { setUpCommandLine } from '../command-line.fixture.ts';

const ago = (ms: number): string => new Date(Date.now() - ms).toISOString();

const page = {
  agents: ['main'],
  approvals: [
    {
      id: 'a-1',
      taskId: 't-1',
      agent: 'main',
      command: 'touch \u001b[31mfile',
      createdAt: ago(300_000),
      expiresAt: ago(-1_500_000),
    },
  ],
  problems: [{ agent: 'other', problem: 'It is down.' }],
};

test('sealane approvals lists what waits, for how long, and what cannot be asked', async () => {
  await using service = await startScriptedService(({ json }) => json(page));
  using cli = setUpCommandLine(service);
  const { code, stdout } = await cli.run(['approvals']);
  expect(code).toBe(0);
  expect(stdout.split('\n').slice(1, 3)).toEqual([
    expect.stringMatching(/^a-1 {2}main {3}t-1 {3}5 min {2}25 min {6}touch \S*file$/),
    'Agent other cannot be asked: It is down.',
  ]);
  expect(stdout).not.toContain('\u001b');
  expect(JSON.parse((await cli.run(['--json', 'approvals', 'list'])).stdout)).toEqual(page);
});

test('sealane approvals says how to get the right to decide when there is none', async () => {
  await using service = await startScriptedService(({ json }) => json({ agents: [], approvals: [], problems: [] }));
  using cli = setUpCommandLine(service);
  expect((await cli.run(['approvals'])).stdout).toContain('set approvals: sealane');
});

test.each([
  ['allow', 'allow-once', 'allowed'],
  ['deny', 'deny', 'denied'],
])('sealane approvals %s sends the decision, and tells of a refusal', async (verb, decision, did) => {
  await using service = await startScriptedService(({ json, path }) =>
    path === '/admin/approvals/a%2F1'
      ? json({ id: 'a/1', taskId: 't-1', agent: 'main', decision })
      : json({ error: { code: 'not-found', message: 'Nothing with the id "x" waits.' } }, 404),
  );
  using cli = setUpCommandLine(service);
  expect(await cli.run(['approvals', verb, 'a/1'])).toMatchObject({
    code: 0,
    stdout: `${did}; task t-1 of agent main goes on\n`,
  });
  expect(service.seen[0]).toMatchObject({ method: 'POST', body: { decision } });
  const refused = await cli.run(['approvals', verb, 'x']);
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain('Nothing with the id "x" waits.');
  expect((await cli.run(['approvals', verb])).code).toBe(2);
});
