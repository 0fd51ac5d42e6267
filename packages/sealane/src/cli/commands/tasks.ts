import type { Command } from 'commander';

import { STATES, textOf } from '#domain';
import { nearestWord } from '#config';

import { pathWord, type ApiClient } from '../api-client.ts';
import { CliError, toCliError, usageError } from '../cli-error.ts';
import type { ClientContext } from '../cli-context.ts';
import { helpText, optionWords, typed } from '../command-name.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { notEmpty, wholeNumber } from '../option-values.ts';
import { oneLine, printable } from '../printable.ts';
import type { RunCommand } from '../run-command.ts';
import { table } from '../table.ts';
import { messageText } from '../task-printer.ts';
import { stateOf, type TaskView } from '../wire.ts';
import { addExport } from './export.ts';

interface ListOptions {
  readonly owner?: string;
  readonly agent?: string;
  readonly state?: string;
  readonly context?: string;
  readonly limit: number;
  readonly cursor?: string;
}

export const addTasksCommand = (program: Command, run: RunCommand<ClientContext>): void => {
  const tasks = program.command('tasks').description('list, show, cancel, delete and export tasks');
  tasks
    .command('list', { isDefault: true })
    .description('tasks, the newest status first')
    .option('--owner <owner>', 'only tasks of this owner', notEmpty)
    .option('--agent <name>', 'only tasks of this agent', notEmpty)
    .option('--state <state>', `only tasks in this state: ${STATES.join(', ')}`)
    .option('--context <id>', 'only tasks of this conversation', notEmpty)
    .option('--limit <number>', 'at most this many, up to 200', wholeNumber, 50)
    .option('--cursor <cursor>', 'go on where a list ended', notEmpty)
    .addHelpText(
      'after',
      helpText(
        '\nExamples:\n  sealane tasks list --state working\n  sealane tasks list --json | jq -r ".tasks[].task.id"',
      ),
    )
    .action((options: ListOptions, command: Command) => run(command, (context) => list(context, options)));
  tasks
    .command('show')
    .description('one task: its state, its messages and its answer')
    .argument('<task>', 'id of the task')
    .option('--events', 'its events as well')
    .action((id: string, options: { readonly events?: boolean }, command: Command) =>
      run(command, (context) => show(context, id, options.events ?? false)),
    );
  tasks
    .command('cancel')
    .description('stop tasks')
    .argument('<task...>', 'ids of the tasks')
    .action((ids: readonly string[], _options, command: Command) =>
      run(command, async ({ output, client }) => {
        const service = await client();
        const { done, failure } = await eachOf(ids, (id) =>
          service.post<TaskView>(`${pathOf(id)}/cancel`, undefined, ['task']),
        );
        if (done.length > 0)
          output.result({ tasks: done }, () => done.map(({ task }) => `${task.id}  ${stateOf(task.status)}`));
        if (failure) throw failure;
        return EXIT.ok;
      }),
    );
  tasks
    .command('delete')
    .description('delete tasks that are not running, with their events')
    .argument('<task...>', 'ids of the tasks')
    .action((ids: readonly string[], _options, command: Command) =>
      run(command, async ({ output, client }) => {
        const service = await client();
        const { done, failure } = await eachOf(ids, (id) => service.remove(pathOf(id)).then(() => id));
        if (done.length > 0) output.result({ deleted: done }, () => done.map((id) => `${id}  deleted`));
        if (failure) throw failure;
        return EXIT.ok;
      }),
    );
  addExport(tasks, run, 'sealane tasks export');
};

const pathOf = (id: string): string => `/admin/tasks/${pathWord(id)}`;

/** Does it to each of them, also after one that failed: what was done is told, and all that was not. */
const eachOf = async <T>(
  ids: readonly string[],
  act: (id: string) => Promise<T>,
): Promise<{ readonly done: readonly T[]; readonly failure: CliError | undefined }> => {
  const done: T[] = [];
  const failures: CliError[] = [];
  for (const id of ids) {
    try {
      done.push(await act(id));
    } catch (error) {
      const failure = toCliError(error);
      failures.push(failure);
      // The others would only fail in the same way.
      if (failure.exitCode === EXIT.unreachable || failure.exitCode === EXIT.notAllowed) break;
    }
  }
  const [first] = failures;
  if (first === undefined || failures.length === 1) return { done, failure: first };
  const { code, next, exitCode } = first;
  const message = failures.map((failure) => failure.message).join(' ');
  return { done, failure: new CliError(code, message, { next, exitCode, cause: first }) };
};

const requireState = (state: string): void => {
  if ((STATES as readonly string[]).includes(state)) return;
  const near = nearestWord(state, STATES);
  throw usageError(
    `There is no state "${state}".${near === undefined ? '' : ` Did you mean ${near}?`}`,
    typed('tasks', 'list', '--state', near ?? 'working'),
  );
};

const list = async ({ output, client }: ClientContext, { context, ...options }: ListOptions): Promise<ExitCode> => {
  if (options.state !== undefined) requireState(options.state);
  if (options.limit < 1 || options.limit > 200)
    throw usageError('--limit is between 1 and 200.', typed('tasks', 'list', '--limit', '200'));
  const page = await (
    await client()
  ).get<{ tasks: readonly TaskView[]; next?: string; total: number }>(
    '/admin/tasks',
    { ...options, contextId: context },
    ['tasks'],
  );
  output.result(page, () =>
    page.tasks.length === 0
      ? 'No tasks.'
      : table(
          ['TASK', 'STATE', 'AGENT', 'OWNER', 'UPDATED', 'MESSAGE'],
          page.tasks.map(({ task, agent, owner, updatedAt }) => [
            task.id,
            stateOf(task.status),
            agent,
            owner,
            updatedAt,
            oneLine(textOf(task.history?.[0]?.parts ?? []), 60),
          ]),
        ),
  );
  if (page.next !== undefined)
    output.note(
      `${page.total} in all. More: ${typed('tasks', 'list', ...optionWords({ ...options, context, cursor: page.next }))}`,
    );
  return EXIT.ok;
};

interface EventView {
  readonly seq: number;
  readonly at: string;
  readonly kind: string;
  readonly state?: string;
}

const show = async ({ output, client }: ClientContext, id: string, withEvents: boolean): Promise<ExitCode> => {
  const service = await client();
  const view = await service.get<TaskView>(pathOf(id), {}, ['task']);
  const events = withEvents ? await allEvents(service, id) : [];
  output.result(withEvents ? { ...view, events } : view, () => [
    ...describeTask(view).map((line) => printable(line)),
    ...(withEvents ? ['', ...describeEvents(events)] : []),
  ]);
  return EXIT.ok;
};

const EVENT_PAGE = 500;

const allEvents = async (service: ApiClient, id: string): Promise<readonly EventView[]> => {
  const events: EventView[] = [];
  for (let isMore = true; isMore;) {
    const query = { after: events.at(-1)?.seq ?? 0, limit: EVENT_PAGE };
    const page = await service.get<{ events: readonly EventView[] }>(`${pathOf(id)}/events`, query, ['events']);
    events.push(...page.events);
    isMore = page.events.length === EVENT_PAGE;
  }
  return events;
};

const describeTask = ({ task, agent, owner, lane, createdAt, updatedAt }: TaskView): readonly string[] => [
  `task     ${task.id}`,
  `context  ${task.contextId ?? '-'}`,
  `state    ${stateOf(task.status)}`,
  `agent    ${agent}`,
  `owner    ${owner}`,
  `lane     ${lane}`,
  `created  ${createdAt}`,
  `updated  ${updatedAt}`,
  ...(task.status.message ? [`status   ${messageText(task.status.message)}`] : []),
  ...(task.history ?? []).flatMap((message) => [
    '',
    message.role === 'ROLE_USER' ? 'caller:' : 'agent:',
    messageText(message),
  ]),
  ...(task.artifacts ?? []).flatMap((artifact) => [
    '',
    `artifact ${artifact.name ?? artifact.artifactId}:`,
    messageText({ messageId: '', role: 'ROLE_AGENT', parts: artifact.parts }),
  ]),
];

const describeEvents = (events: readonly EventView[]): readonly string[] =>
  table(
    ['SEQ', 'AT', 'EVENT', 'STATE'],
    events.map(({ seq, at, kind, state }) => [String(seq), at, kind, state ?? '']),
  );
