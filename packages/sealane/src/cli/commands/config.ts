import type { Command } from 'commander';

import { configJsonSchema, describeConfig, type Source } from '#config';

import { EXIT } from '../exit-codes.ts';
import type { RunCommand } from '../run-command.ts';
import { table } from '../table.ts';

export const addConfigCommand = (program: Command, run: RunCommand): void => {
  const config = program.command('config').description('see and check the configuration');
  config
    .command('show', { isDefault: true })
    .description('every setting, its value and where that came from; secrets are hidden')
    .action((_options, command: Command) =>
      run(command, ({ output, load }) => {
        const loaded = load();
        const settings = describeConfig(loaded);
        output.result({ file: loaded.file, fileExists: loaded.fileExists, settings }, () =>
          table(
            ['SETTING', 'VALUE', 'FROM'],
            settings.map(({ setting, value, source }) => [
              setting,
              typeof value === 'string' ? value : JSON.stringify(value),
              describeSource(source),
            ]),
          ),
        );
        return EXIT.ok;
      }),
    );
  config
    .command('check')
    .description('say whether the configuration is right, and if not, everything that is wrong')
    .action((_options, command: Command) =>
      run(command, ({ output, load }) => {
        const { file, fileExists } = load();
        output.result({ ok: true, file, fileExists }, () =>
          fileExists ? `${file} is right.` : `There is no ${file}; the defaults are in use.`,
        );
        return EXIT.ok;
      }),
    );
  config
    .command('schema')
    .description('print the JSON Schema of the file, for editors')
    .addHelpText(
      'after',
      '\nExample:\n  sealane config schema > ~/.sealane/sealane.schema.json\n  # first line of sealane.yaml: # yaml-language-server: $schema=sealane.schema.json',
    )
    .action((_options, command: Command) =>
      run(command, ({ output }) => {
        const schema = configJsonSchema();
        output.result(schema, () => JSON.stringify(schema, undefined, 2));
        return EXIT.ok;
      }),
    );
};

const describeSource = (source: Source): string => {
  if (source.kind === 'file') return `${source.path}:${source.line}`;
  return source.kind === 'default' ? 'default' : source.name;
};
