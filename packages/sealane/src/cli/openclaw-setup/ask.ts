import { CliError } from '../cli-error.ts';
import { typed } from '../command-name.ts';
import { EXIT } from '../exit-codes.ts';

/** A question with yes or no, on standard error: standard output is for results. */
export const askYesNo = async (message: string, initialValue: boolean): Promise<boolean> => {
  const { confirm, isCancel } = await import('@clack/prompts');
  const answer = await confirm({ message, initialValue, output: process.stderr });
  if (isCancel(answer)) throw stopped();
  return answer;
};

export const askWhich = async (message: string, choices: readonly string[]): Promise<string> => {
  const { isCancel, select } = await import('@clack/prompts');
  const options = choices.map((value) => ({ value }));
  const answer = await select<string>({ message, options, output: process.stderr });
  if (isCancel(answer)) throw stopped();
  return answer;
};

/** Nobody is asked who cannot see the question or answer it. */
export const canAsk = (): boolean => process.stdin.isTTY && process.stderr.isTTY;

const stopped = (): CliError =>
  new CliError('usage', 'Stopped; nothing was written.', { next: typed('init'), exitCode: EXIT.interrupted });
