import { expect, test } from 'vitest';

import { frames, startScriptedService, taskView } from '../cli-harness.fixture.ts';
import { setUpCommandLine } from '../command-line.fixture.ts';

const ESCAPE = '\u001B]0;owned\u0007\u009B2J';
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/;

test('names that agents give to things are as harmless as what they say', async () => {
  const view = taskView('t-1', 'completed');
  const artifacts = [{ artifactId: 'a-1', name: `answer${ESCAPE}`, parts: [{ text: 'x' }] }];
  await using service = await startScriptedService(({ json }) =>
    json({ ...view, owner: `ann${ESCAPE}`, task: { ...view.task, contextId: `c${ESCAPE}`, artifacts } }),
  );
  using cli = setUpCommandLine(service);
  const { code, stdout } = await cli.run(['tasks', 'show', 't-1']);
  expect(code).toBe(0);
  expect(stdout).toContain('artifact answer');
  expect(stdout).not.toMatch(CONTROL);
});

test('what is said along the way has no control characters, whoever said it', async () => {
  await using service = await startScriptedService((exchange) => {
    const stream = exchange.stream();
    stream.event(1, frames.task('working'));
    stream.event(2, frames.status('canceled', `enough${ESCAPE}`));
  });
  using cli = setUpCommandLine(service);
  const { code, stderr } = await cli.run(['send', 'hi']);
  expect(code).toBe(4);
  expect(stderr).toContain('The task was canceled: enough');
  expect(stderr).not.toMatch(CONTROL);
});

test('JSON says the same, in letters that no terminal obeys', async () => {
  await using service = await startScriptedService(({ json }) => json({ keys: [{ name: ESCAPE }] }));
  using cli = setUpCommandLine(service);
  const { stdout } = await cli.run(['keys', '--json']);
  expect(stdout).not.toMatch(CONTROL);
  expect(JSON.parse(stdout)).toEqual({ keys: [{ name: ESCAPE }] });
});

test('a command that waits for a decision is shown whole, with what would hide in it', async () => {
  const command = `echo ${'harmless '.repeat(40)}\nrm -rf / \u202E# gnihton`;
  const at = new Date().toISOString();
  await using service = await startScriptedService(({ json }) =>
    json({
      agents: ['main'],
      approvals: [{ id: 'a-1', taskId: 't-1', agent: 'main', command, createdAt: at, expiresAt: at }],
      problems: [{ agent: 'other', problem: `down${ESCAPE}` }],
    }),
  );
  using cli = setUpCommandLine(service);
  const { stdout } = await cli.run(['approvals']);
  expect(stdout).toContain(String.raw`harmless \nrm -rf / \u{202e}# gnihton`);
  expect(stdout).not.toMatch(CONTROL);
});
