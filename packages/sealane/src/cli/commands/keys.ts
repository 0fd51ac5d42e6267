import { dirname } from 'node:path';

import type { Command } from 'commander';

import { pathWord } from '../api-client.ts';
import { CliError } from '../cli-error.ts';
import type { ClientContext } from '../cli-context.ts';
import { commandWords, helpText, typed } from '../command-name.ts';
import { createKey, nameTaken, knownPermission, knownRate, lifetime, type KeyView } from '../create-key.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { notEmpty } from '../option-values.ts';
import type { RunCommand } from '../run-command.ts';
import { table } from '../table.ts';

interface CreateOptions {
  readonly owner?: string;
  readonly admin?: boolean;
  readonly agents?: readonly string[];
  readonly permission?: string;
  readonly rate?: number;
  readonly expires?: number;
}

export const addKeysCommand = (program: Command, run: RunCommand<ClientContext>): void => {
  const keys = program.command('keys').description('the admin key, and keys for callers');
  const showKey = (command: Command) => run(command, show);
  keys
    .command('show')
    .description('print the admin key of the data folder; the service need not run')
    .action((_options, command: Command) => showKey(command));
  program
    .command('key')
    .description('print the admin key (the same as keys show)')
    .addHelpText('after', helpText('\nExample:\n  export SEALANE_API_KEY=$(sealane key)'))
    .action((_options, command: Command) => showKey(command));
  keys
    .command('create')
    .description('make a key for a caller; it is shown this once')
    .argument('<name>', 'how the key is called, in the configuration and in the audit log')
    .option('--owner <owner>', 'the user that its tasks belong to (the name without it)', notEmpty)
    .option('--admin', 'may use the admin API')
    .option('--agents <names>', 'agents it may use, with commas between them (all without it)', (names: string) =>
      names.split(',').map((name) => name.trim()),
    )
    .option('--permission <level>', 'read-only, guarded, workspace or agent-default (guarded)', knownPermission)
    .option('--rate <rate>', 'requests it may make, like 30/min', knownRate)
    .option('--expires <time>', 'how long it is valid, like 12h, 30d or 1y', lifetime)
    .addHelpText(
      'after',
      helpText(
        '\nExamples:\n  sealane keys create hermes --agents main --permission guarded --rate 30/min\n  sealane keys create ci --expires 30d --json | jq -r .key',
      ),
    )
    .action((name: string, { rate, expires, ...options }: CreateOptions, command: Command) =>
      run(command, async ({ output, client }) => {
        const made = await createKey(await client(), {
          name,
          ...options,
          ratePerMinute: rate,
          expiresInMs: expires,
        }).catch((error: unknown) => {
          throw nameTaken(error, `${typed('keys', 'revoke', name)}   # then create it again; or choose another name`);
        });
        output.result(made, () => made.key);
        output.note(`This is the only time it is shown. Take it back with: ${typed('keys', 'revoke', made.name)}`);
        return EXIT.ok;
      }),
    );
  keys
    .command('list', { isDefault: true })
    .description('all keys, without their secrets')
    .action((_options, command: Command) =>
      run(command, async ({ output, client }) => {
        const answer = await (await client()).get<{ readonly keys: readonly KeyView[] }>('/admin/keys', {}, ['keys']);
        output.result(answer, () =>
          answer.keys.length === 0
            ? `No keys but the admin key. Make one: ${typed('keys', 'create', 'NAME')}`
            : describeKeys(answer.keys),
        );
        return EXIT.ok;
      }),
    );
  keys
    .command('revoke')
    .description('take a key back: its next call is refused')
    .argument('<id-or-name>', 'id or name of the key')
    .action((idOrName: string, _options, command: Command) =>
      run(command, async ({ output, client }) => {
        await (await client()).remove(`/admin/keys/${pathWord(idOrName)}`);
        output.result({ revoked: idOrName }, () => `${idOrName}  revoked`);
        return EXIT.ok;
      }),
    );
  keys
    .command('rotate-card')
    .description('sign agent cards with a new key; the former one stays valid for a week')
    .option('--forget-former', 'all former keys at once, when one has leaked: what they signed is no longer valid')
    .action((options: { readonly forgetFormer?: boolean }, command: Command) =>
      run(command, async ({ output, client }) => {
        const made = await (await client()).post<{ readonly kid: string }>('/admin/card-keys/rotate', options);
        output.result(made, () => `${made.kid}  signs agent cards`);
        return EXIT.ok;
      }),
    );
};

const show = async ({ output, adminKey }: ClientContext): Promise<ExitCode> => {
  const { key, file } = await adminKey();
  if (key === undefined) {
    throw new CliError('not-found', `There is no admin key in ${dirname(file)} yet: the first start makes it.`, {
      next: commandWords().start,
    });
  }
  output.result({ key, ...(file !== undefined && { file }) }, () => key);
  return EXIT.ok;
};

const describeKeys = (keys: readonly KeyView[]): readonly string[] =>
  table(
    ['NAME', 'OWNER', 'ADMIN', 'AGENTS', 'PERMISSION', 'RATE', 'CREATED', 'ENDS', 'ID'],
    keys.map((key) => [
      key.name,
      key.owner,
      key.admin ? 'yes' : '',
      key.agents?.join(',') ?? 'all',
      key.permission,
      key.ratePerMinute === null ? '' : `${key.ratePerMinute}/min`,
      key.createdAt,
      key.revokedAt === null ? (key.expiresAt ?? '') : `revoked ${key.revokedAt}`,
      key.id,
    ]),
  );
