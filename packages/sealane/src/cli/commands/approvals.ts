import type { Command } from 'commander';

import { pathWord } from '../api-client.ts';
import type { ClientContext } from '../cli-context.ts';
import { EXIT } from '../exit-codes.ts';
import { oneLine, verbatim } from '../printable.ts';
import type { RunCommand } from '../run-command.ts';
import { table } from '../table.ts';

interface ApprovalView {
  readonly id: string;
  readonly taskId: string;
  readonly agent: string;
  readonly command: string;
  readonly createdAt: string;
  readonly expiresAt: string;
}

interface ApprovalsPage {
  /** Those that let Sealane decide. */
  readonly agents: readonly string[];
  readonly approvals: readonly ApprovalView[];
  readonly problems: readonly { readonly agent: string; readonly problem: string }[];
}

interface Decided {
  readonly id: string;
  readonly taskId: string;
  readonly agent: string;
  readonly decision: string;
}

const VERBS = {
  allow: { decision: 'allow-once', does: 'let a command that waits run, this once', did: 'allowed' },
  deny: { decision: 'deny', does: 'do not let a command that waits run; its task goes on', did: 'denied' },
} as const;

export const addApprovalsCommand = (program: Command, run: RunCommand<ClientContext>): void => {
  const approvals = program
    .command('approvals')
    .description('see commands of agents that wait for an operator, and decide on them');
  approvals
    .command('list', { isDefault: true })
    .description('what waits now')
    .action((_options: object, command: Command) =>
      run(command, async ({ output, client }) => {
        const page = await (
          await client()
        ).get<ApprovalsPage>('/admin/approvals', {}, ['agents', 'approvals', 'problems']);
        output.result(page, () => describePage(page, Date.now()));
        return EXIT.ok;
      }),
    );
  for (const [verb, { decision, does, did }] of Object.entries(VERBS)) {
    approvals
      .command(verb)
      .description(does)
      .argument('<id>', 'as the list shows it')
      .action((id: string, _options: object, command: Command) =>
        run(command, async ({ output, client }) => {
          const path = `/admin/approvals/${pathWord(id)}`;
          const decided = await (await client()).post<Decided>(path, { decision });
          output.result(decided, () => `${did}; task ${decided.taskId} of agent ${decided.agent} goes on`);
          return EXIT.ok;
        }),
      );
  }
};

const describePage = ({ agents, approvals, problems }: ApprovalsPage, now: number): readonly string[] => [
  ...(approvals.length > 0
    ? table(
        ['ID', 'AGENT', 'TASK', 'WAITS', 'EXPIRES IN', 'COMMAND'],
        approvals.map(({ id, agent, taskId, createdAt, expiresAt, command }) => [
          id,
          agent,
          taskId,
          spanOf(now - Date.parse(createdAt)),
          spanOf(Date.parse(expiresAt) - now),
          verbatim(command),
        ]),
        // Nobody can decide on half a command.
        Infinity,
      )
    : [
        agents.length === 0
          ? 'No agent lets Sealane decide on commands. For an OpenClaw agent, set approvals: sealane.'
          : 'Nothing waits for a decision.',
      ]),
  ...problems.map(({ agent, problem }) => `Agent ${agent} cannot be asked: ${oneLine(problem)}`),
];

/** Whole seconds below two minutes, then whole minutes. */
const spanOf = (ms: number): string => {
  const seconds = Math.max(0, Math.round(ms / 1000));
  return seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
};
