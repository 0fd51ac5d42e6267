import { hash, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { buffer as readAll } from 'node:stream/consumers';

import type { Command } from 'commander';

import type { Part } from '#domain';

import type { ApiClient } from '../api-client.ts';
import { CliError, usageError } from '../cli-error.ts';
import type { ClientContext } from '../cli-context.ts';
import { helpText, typed } from '../command-name.ts';
import { EXIT, exitCodeOfState, type ExitCode } from '../exit-codes.ts';
import { followTask, type Beginning } from '../follow-task.ts';
import { notEmpty } from '../option-values.ts';
import { mediaTypeOf } from '../media-type.ts';
import type { RunCommand } from '../run-command.ts';
import { createTaskPrinter, type Shown } from '../task-printer.ts';
import { untilInterrupted } from '../until-interrupted.ts';
import type { StreamResponse, WireTask } from '../wire.ts';

interface SendOptions {
  readonly agent?: string;
  readonly context?: string;
  readonly task?: string;
  readonly wait: boolean;
  readonly file: readonly string[];
  readonly idempotencyKey?: string;
}

export const addSendCommand = (program: Command, run: RunCommand<ClientContext>): void => {
  program
    .command('send')
    .description('send a message to an agent and show the answer as it comes')
    .argument('[text...]', 'the message; - reads it from standard input')
    .option('--agent <name>', 'the agent to ask (the default agent without it)', notEmpty)
    .option('--context <id>', 'go on in this conversation', notEmpty)
    .option('--task <id>', 'answer a task that asked for input', notEmpty)
    .option('--no-wait', 'only hand the message in and print the id of its task')
    .option(
      '--file <file>',
      'send a file along; may be repeated',
      (file: string, files: readonly string[]) => [...files, file],
      [],
    )
    .option('--idempotency-key <key>', 'sending again under this key never makes a second task')
    .addHelpText(
      'after',
      helpText(`
Examples:
  sealane send "hello"
  sealane send --agent writer --file notes.md "Summarise this"
  git diff | sealane send - --agent reviewer
  sealane send --task 0198… "yes, go on"
  sealane send --no-wait --json "long work" | jq -r .task.id

Ctrl-C stops watching; the task goes on.`),
    )
    .action((words: readonly string[], options: SendOptions, command: Command) =>
      run(command, async (context) => {
        const client = await context.client();
        const idempotencyKey = options.idempotencyKey ?? randomUUID();
        const message = await messageOf(words, options, idempotencyKey);
        return options.wait
          ? sendAndWait(context, client, { kind: 'send', params: { message }, agent: options.agent, idempotencyKey })
          : handIn(
              context,
              client,
              { message, configuration: { returnImmediately: true } },
              options.agent,
              idempotencyKey,
            );
      }),
    );
};

const messageOf = async (words: readonly string[], { context, task, file }: SendOptions, idempotencyKey: string) => {
  const text = words.length === 1 && words[0] === '-' ? await textOfStdin() : words.join(' ');
  const parts: Part[] = text.trim() === '' ? [] : [{ text }];
  for (const path of file) parts.push(await filePart(path));
  if (parts.length === 0)
    throw usageError('There is nothing to send: give a text, - for standard input, or --file.', typed('send', 'hello'));
  return {
    // The same whenever this is typed again under its key: another id would make it another message.
    messageId: hash('sha256', idempotencyKey, 'hex').slice(0, 32),
    role: 'ROLE_USER',
    parts,
    ...(context !== undefined && { contextId: context }),
    ...(task !== undefined && { taskId: task }),
  };
};

const textOfStdin = async (): Promise<string> => {
  const bytes = await readAll(process.stdin);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_ENCODING_INVALID_ENCODED_DATA')
      throw new CliError('too-large', 'Standard input is larger than any message can be.', { cause: error });
    throw usageError(
      'Standard input is not text in UTF-8.',
      `${typed('send', '--file', 'FILE')}   # for other content`,
    );
  }
};

const filePart = async (path: string): Promise<Part> => {
  try {
    return { raw: await readFile(path, 'base64'), filename: basename(path), mediaType: mediaTypeOf(path) };
  } catch (error) {
    throw usageError(
      `${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)}).`,
      'check --file',
    );
  }
};

const handIn = async (
  { output }: ClientContext,
  client: ApiClient,
  params: unknown,
  agent: string | undefined,
  idempotencyKey: string,
): Promise<ExitCode> => {
  const answer = await client
    .rpc<StreamResponse>('SendMessage', params, { agent, idempotencyKey })
    .catch((error: unknown) => {
      throw error instanceof CliError && error.isTransient ? withWayBack(error, {}, undefined, idempotencyKey) : error;
    });
  if (answer.task) {
    const { id } = answer.task;
    output.result(answer, () => id);
    output.note(`Watch it: ${typed('watch', id)}`);
  } else {
    const printer = createTaskPrinter(output);
    if (output.isJson) output.document(answer);
    else printer.show(answer);
    printer.end();
  }
  return EXIT.ok;
};

const sendAndWait = async (
  context: ClientContext,
  client: ApiClient,
  beginning: Beginning & { readonly kind: 'send' },
): Promise<ExitCode> => {
  const { output } = context;
  const printer = createTaskPrinter(output);
  let lastSeq: number | undefined;
  let isDirect = false;
  let mayHaveArrived = false;
  const isDone = await untilInterrupted(async (signal) => {
    const onBreak = (error: CliError, waitMs: number) => {
      mayHaveArrived = true;
      output.note(`${error.message} Trying again in ${waitMs / 1000} s.`);
    };
    try {
      for await (const { seq, response } of followTask(client, beginning, { signal, onBreak })) {
        lastSeq = seq ?? lastSeq;
        isDirect ||= response.message !== undefined;
        if (output.isJson) output.document({ ...(seq !== undefined && { seq }), ...response });
        printer.show(response);
      }
    } catch (error) {
      const shown = printer.end();
      if (!(error instanceof CliError)) throw error;
      throw mayHaveArrived || error.isTransient || shown.taskId !== undefined
        ? withWayBack(error, shown, lastSeq, beginning.idempotencyKey)
        : error;
    }
  });
  const shown = printer.end();
  if (!isDone) {
    output.note(`\nNo longer watching. ${wayBack(shown, lastSeq, beginning.idempotencyKey)}`);
    return EXIT.interrupted;
  }
  if (isDirect || shown.taskId === undefined || shown.state === undefined) return EXIT.ok;
  if (output.isJson)
    output.document({ seq: lastSeq, task: await client.rpc<WireTask>('GetTask', { id: shown.taskId }) });
  return conclude(context, shown);
};

/** Says how the task ended, unless the answer itself says it. */
const conclude = (
  context: ClientContext,
  { taskId = '', contextId, state = 'working', statusText }: Shown,
): ExitCode => {
  const { output } = context;
  switch (state) {
    case 'failed':
    case 'rejected':
      output.failure(
        new CliError(
          `task-${state}`,
          `The task ${state === 'failed' ? 'failed' : 'was rejected'}${statusText && `: ${statusText}`}`,
          {
            next: typed('tasks', 'show', taskId, '--events'),
          },
        ),
      );
      break;
    case 'canceled':
      output.note(`The task was canceled${statusText && `: ${statusText}`}.`);
      break;
    case 'input-required':
    case 'auth-required':
      output.stream(`${statusText || 'The agent waits for an answer.'}\n`);
      output.note(`Answer with: ${typed('send', '--task', taskId, '…')}`);
      break;
    case 'submitted':
    case 'working':
    case 'completed':
      if (contextId !== undefined && output.isTerminal)
        output.note(`Go on with: ${typed('send', '--context', contextId, '…')}`);
      break;
    default:
      break;
  }
  return exitCodeOfState(state);
};

const wayBack = ({ taskId }: Partial<Shown>, lastSeq: number | undefined, idempotencyKey: string): string =>
  taskId === undefined
    ? `It is not known whether the message arrived; this finds out: ${typed('send', '--idempotency-key', idempotencyKey)} and the same message`
    : `The task goes on. Watch: ${typed('watch', taskId, '--from', String(lastSeq ?? 0))}   Cancel: ${typed('tasks', 'cancel', taskId)}`;

/** A failure in the middle: what was started goes on, and this is how to find it again. */
const withWayBack = (
  error: CliError,
  shown: Partial<Shown>,
  lastSeq: number | undefined,
  idempotencyKey: string,
): CliError =>
  new CliError(error.code, error.message, {
    next: wayBack(shown, lastSeq, idempotencyKey),
    exitCode: error.exitCode,
    cause: error,
  });
