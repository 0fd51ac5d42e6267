import type { Event, NewEvent, State } from '#domain';

import type { A2aClient } from './a2a-client.ts';
import { type AuditLine, readAudit } from './audit-log.ts';
import type { Disturbances } from './disturbances.ts';
import type { Ledger } from './ledger.ts';

/** A task as the operator's export shows it, with its whole log. */
export interface TaskEvidence {
  readonly id: string;
  readonly contextId: string;
  readonly agent: string;
  readonly state: State;
  readonly statusAt: string;
  readonly lastSeq: number;
  readonly artifacts: readonly { readonly artifactId: string; readonly text: string }[];
  readonly messageIds: readonly string[];
  readonly events: readonly Event[];
}

export interface LaneEvidence {
  readonly key: string;
  readonly waiting: number;
  readonly running: string | null;
}

/** Everything that is held against everything else. */
export interface Evidence {
  readonly tasks: readonly TaskEvidence[];
  readonly lanes: readonly LaneEvidence[];
  readonly audit: readonly AuditLine[];
  readonly ledger: Ledger;
  readonly disturbances: Disturbances;
  readonly memory: Memory;
  /** Runs were given less time than they need, so some may end as `timeout`. */
  readonly mayTimeOut: boolean;
}

/** What earlier checks have seen: the log of a task may only grow, and what has ended stays as it is. */
export type Memory = Map<string, { readonly events: readonly string[]; readonly state: State }>;

export type Rule = (evidence: Evidence) => readonly string[];

interface ExportLine {
  readonly task: {
    readonly task: {
      readonly id: string;
      readonly contextId: string;
      readonly status: { readonly state: string; readonly timestamp: string };
      readonly artifacts?: readonly { readonly artifactId: string; readonly parts: readonly { text?: string }[] }[];
      readonly history?: readonly { readonly messageId: string }[];
    };
    readonly agent: string;
    readonly lastSeq: number;
  };
  readonly events: readonly ({ readonly seq: number; readonly at: string } & NewEvent)[];
}

/** `TASK_STATE_INPUT_REQUIRED` is `input-required`. */
export const stateOfWire = (state: string): State =>
  state
    .replace(/^TASK_STATE_/, '')
    .replaceAll('_', '-')
    .toLowerCase() as State;

export const readTasks = async (client: A2aClient): Promise<readonly TaskEvidence[]> => {
  const text = await (await client.admin('/export')).text();
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => taskOf(JSON.parse(line) as ExportLine));
};

const taskOf = ({ task: { task, agent, lastSeq }, events }: ExportLine): TaskEvidence => ({
  id: task.id,
  contextId: task.contextId,
  agent,
  state: stateOfWire(task.status.state),
  statusAt: task.status.timestamp,
  lastSeq,
  artifacts: (task.artifacts ?? []).map(({ artifactId, parts }) => ({
    artifactId,
    text: parts.map((part) => part.text ?? '').join(''),
  })),
  messageIds: (task.history ?? []).map(({ messageId }) => messageId),
  events: events.map(({ seq, at, ...event }) => ({ seq, at, event: event as NewEvent })),
});

/** Reads tasks and lanes through a service, and the audit log from its file. */
export const readEvidence = async (
  client: A2aClient,
  sources: Omit<Evidence, 'tasks' | 'lanes' | 'audit'> & { readonly auditFile: string },
): Promise<Evidence> => {
  const { auditFile, ...rest } = sources;
  const lanes = (await (await client.admin('/lanes?limit=200')).json()) as { readonly lanes: readonly LaneEvidence[] };
  return { ...rest, tasks: await readTasks(client), lanes: lanes.lanes, audit: readAudit(auditFile) };
};
