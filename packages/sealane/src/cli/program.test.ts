import { describe, expect, it } from 'vitest';

import { createProgram } from './program.ts';

const commandsFor = async (...typed: readonly string[]): Promise<readonly string[]> =>
  (await createProgram('1.2.3', typed)).commands.map((command) => command.name());

describe('the command line', () => {
  it.each([
    ['serve', '--port', '7420'],
    ['--json', 'serve'],
    ['--config', 'config', 'serve'],
    ['--data-dir', 'tasks', '--quiet', 'serve', 'keys'],
  ])('has nothing but the command that was typed: %s %s %s', async (...typed) => {
    expect(await commandsFor(...typed)).toEqual(['serve']);
  });

  it.each([[], ['--help'], ['help', 'serve'], ['sevre'], ['key'], ['constructor']])(
    'has all commands where none of them is named: %s',
    async (...typed) => {
      expect(await commandsFor(...typed)).toEqual(expect.arrayContaining(['serve', 'send', 'keys', 'key', 'restore']));
    },
  );
});
