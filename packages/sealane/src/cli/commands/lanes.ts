import type { Command } from 'commander';

import { usageError } from '../cli-error.ts';
import type { ClientContext } from '../cli-context.ts';
import { helpText, optionWords, typed } from '../command-name.ts';
import { EXIT } from '../exit-codes.ts';
import { notEmpty, wholeNumber } from '../option-values.ts';
import type { RunCommand } from '../run-command.ts';
import { table } from '../table.ts';

interface LaneView {
  readonly key: string;
  readonly agent: string;
  readonly owner: string;
  readonly waiting: number;
  readonly running: string | null;
  readonly paused: boolean;
  readonly since: string | null;
}

interface LanesPage {
  readonly lanes: readonly LaneView[];
  readonly pausedAgents: readonly string[];
}

interface ListOptions {
  readonly agent?: string;
  readonly owner?: string;
  readonly limit: number;
  readonly after?: string;
}

export const addLanesCommand = (program: Command, run: RunCommand<ClientContext>): void => {
  const lanes = program.command('lanes').description('see, pause and resume the lanes in which turns wait');
  lanes
    .command('list', { isDefault: true })
    .description('lanes with something in them, and paused ones')
    .option('--agent <name>', 'only lanes of this agent', notEmpty)
    .option('--owner <owner>', 'only lanes of this owner', notEmpty)
    .option('--limit <number>', 'at most this many, up to 1000', wholeNumber, 100)
    .option('--after <lane>', 'go on after this lane', notEmpty)
    .action((options: ListOptions, command: Command) =>
      run(command, async ({ output, client }) => {
        const page = await (await client()).get<LanesPage>('/admin/lanes', { ...options }, ['lanes', 'pausedAgents']);
        output.result(page, () => describePage(page));
        const last = page.lanes.at(-1);
        if (last && page.lanes.length >= options.limit)
          output.note(`There may be more: ${typed('lanes', 'list', ...optionWords({ ...options, after: last.key }))}`);
        return EXIT.ok;
      }),
    );
  for (const verb of ['pause', 'resume'] as const) {
    lanes
      .command(verb)
      .description(
        verb === 'pause'
          ? 'start nothing more in a lane, or for an agent; what runs goes on'
          : 'go on with a paused lane or agent',
      )
      .argument('[lane]', 'key of the lane')
      .option('--agent <name>', 'all lanes of this agent, now and later')
      .addHelpText(
        'after',
        helpText(
          `\nExamples:\n  sealane lanes ${verb} --agent writer\n  sealane lanes ${verb} writer/default/ann/0198…`,
        ),
      )
      .action((lane: string | undefined, { agent }: { readonly agent?: string }, command: Command) =>
        run(command, async ({ output, client }) => {
          if (lane !== undefined && agent !== undefined)
            throw usageError('A lane and --agent are both given: keep one of them.');
          if (lane === undefined && agent === undefined)
            throw usageError('Name a lane, or an agent with --agent.', typed('lanes', 'list'));
          const target = lane === undefined ? { agent } : { lane };
          const answer = await (await client()).post<{ readonly paused: boolean }>(`/admin/lanes/${verb}`, target);
          output.result(
            { ...target, ...answer },
            () => `${lane ?? `agent ${agent}`}: ${answer.paused ? 'paused' : 'runs'}`,
          );
          return EXIT.ok;
        }),
      );
  }
};

const describePage = ({ lanes, pausedAgents }: LanesPage): readonly string[] => [
  ...(lanes.length === 0
    ? ['No turns wait or run.']
    : table(
        ['LANE', 'AGENT', 'OWNER', 'WAITING', 'RUNNING', 'PAUSED', 'SINCE'],
        lanes.map(({ key, agent, owner, waiting, running, paused, since }) => [
          key,
          agent,
          owner,
          String(waiting),
          running ?? '',
          paused ? 'yes' : '',
          since ?? '',
        ]),
        // A key is there to be pasted.
        Infinity,
      )),
  ...(pausedAgents.length === 0 ? [] : ['', `Paused agents: ${pausedAgents.join(', ')}`]),
];
