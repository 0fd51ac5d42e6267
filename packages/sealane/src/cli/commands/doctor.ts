import type { Command } from 'commander';

import type { CliContext } from '../cli-context.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Check } from '../check.ts';
import { examine } from '../examine.ts';
import type { Output } from '../output.ts';
import { printable } from '../printable.ts';
import type { RunCommand } from '../run-command.ts';

export const addDoctorCommand = (program: Command, run: RunCommand): void => {
  program
    .command('doctor')
    .description('check everything the service needs, one by one, and say what to do')
    .action((_options, command: Command) => run(command, doctor));
};

const doctor = (context: CliContext): Promise<ExitCode> => reportChecks(context.output, examine(context));

/** Shows checks as they come; fails when one of them does. */
export const reportChecks = async (output: Output, examination: AsyncIterable<Check>): Promise<ExitCode> => {
  const checks: Check[] = [];
  for await (const check of examination) {
    checks.push(check);
    if (!output.isJson) for (const line of describe(check, output.style)) output.line(line);
  }
  const isWell = checks.every(({ ok }) => ok);
  if (output.isJson) output.result({ ok: isWell, checks }, () => []);
  return isWell ? EXIT.ok : EXIT.failed;
};

const describe = (check: Check, style: Output['style']): readonly string[] => [
  `${signOf(check, style)} ${check.name.padEnd(12)} ${printable(check.detail)}`,
  ...((check.ok && check.isWarning !== true) || check.next === undefined
    ? []
    : [`  ${''.padEnd(12)} next: ${check.next}`]),
];

const signOf = ({ ok, isWarning = false }: Check, style: Output['style']): string => {
  if (!ok) return style('red', '✗');
  return isWarning ? style('yellow', '!') : style('green', '✓');
};
