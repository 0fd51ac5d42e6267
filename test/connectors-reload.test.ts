import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { answerOf } from './support/a2a-client.ts';
import { eventually } from './support/eventually.ts';
import { freshFolder, serve } from './support/served-process.ts';

it('an agent that is taken out of the configuration and put back as it was works again', async () => {
  using folder = freshFolder();
  const file = join(folder.path, 'sealane.yaml');
  const without = 'agents: { echo: { connector: echo, default: true } }\n';
  const upper = '  upper: { connector: command, command: [tr, a-z, A-Z] }\n';
  const whole = `agents:\n  echo: { connector: echo, default: true }\n${upper}`;
  await using service = await serve(folder.path, { config: whole });
  const shout = service.client.with({ path: '/agents/upper' });
  const answer = async (): Promise<string> => answerOf(await shout.send('hello')).trim();
  expect(await answer()).toBe('HELLO');
  writeFileSync(file, without);
  await eventually(() => expect(shout.send('hello')).rejects.toMatchObject({ code: -32012 }));
  writeFileSync(file, whole);
  await eventually(() => expect(shout.submit('hello')).resolves.toBeDefined());
  expect(await answer()).toBe('HELLO');
});
