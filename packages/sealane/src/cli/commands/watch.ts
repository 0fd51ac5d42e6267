import type { Command } from 'commander';

import { textOf } from '#domain';

import type { Frame } from '../api-client.ts';
import type { ClientContext } from '../cli-context.ts';
import { helpText, typed } from '../command-name.ts';
import { EXIT, exitCodeOfState } from '../exit-codes.ts';
import { followTask } from '../follow-task.ts';
import { notEmpty, wholeNumber } from '../option-values.ts';
import { oneLine } from '../printable.ts';
import type { RunCommand } from '../run-command.ts';
import { describePart, messageText } from '../task-printer.ts';
import { untilInterrupted } from '../until-interrupted.ts';
import { stateOf } from '../wire.ts';

export const addWatchCommand = (program: Command, run: RunCommand<ClientContext>): void => {
  program
    .command('watch')
    .description('show the events of a task as they come, until it has ended')
    .argument('<task>', 'id of the task', notEmpty)
    .option('--from <number>', 'only the events after this number', wholeNumber, 0)
    .addHelpText(
      'after',
      helpText(
        '\nExamples:\n  sealane watch 0198…\n  sealane watch 0198… --from 12\n  sealane watch 0198… --json | jq .statusUpdate.status.state',
      ),
    )
    .action((taskId: string, { from }: { readonly from: number }, command: Command) =>
      run(command, async ({ output, client }) => {
        const service = await client();
        let last: Frame | undefined;
        const isDone = await untilInterrupted(async (signal) => {
          const onBreak = (error: Error, waitMs: number) =>
            output.note(`${error.message} Trying again in ${waitMs / 1000} s.`);
          for await (const frame of followTask(service, { kind: 'watch', taskId, after: from }, { signal, onBreak })) {
            last = frame;
            if (output.isJson)
              output.document({ ...(frame.seq !== undefined && { seq: frame.seq }), ...frame.response });
            else output.line(lineOf(frame));
          }
        });
        if (!isDone) {
          output.note(
            `\nThe task goes on. Watch: ${typed('watch', taskId, '--from', String(last?.seq ?? from))}   Cancel: ${typed('tasks', 'cancel', taskId)}`,
          );
          return EXIT.interrupted;
        }
        const status = last?.response.statusUpdate?.status ?? last?.response.task?.status;
        return status ? exitCodeOfState(stateOf(status)) : EXIT.ok;
      }),
    );
};

/** An event in a line: its number, what it is, and what was said. */
const lineOf = ({ seq, response: { task, message, statusUpdate, artifactUpdate } }: Frame): string => {
  const status = statusUpdate?.status ?? task?.status;
  const columns = (what: string, text: string) =>
    `${String(seq ?? '').padStart(5)}  ${what.padEnd(14)}  ${oneLine(text)}`.trimEnd();
  if (status) return columns(stateOf(status), status.message ? messageText(status.message) : '');
  if (artifactUpdate) {
    const { parts } = artifactUpdate.artifact;
    const others = parts.filter(({ text }) => text === undefined).map(describePart);
    return columns(
      artifactUpdate.append ? '+' : 'artifact',
      [JSON.stringify(textOf(parts)), ...others].filter((item) => item !== '""').join(' '),
    );
  }
  return columns('message', message ? messageText(message) : '');
};
