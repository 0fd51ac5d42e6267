import type { FastifyRequest } from 'fastify';

import type { Approval, ApprovalDecision } from '#agents';
import { isTerminal, SealaneError } from '#domain';
import type { AgentEntry } from '#engine';
import { findId, invalid } from '#protocol';

import { holderOf } from '../access.ts';
import { bodyOf, isoOf, paramOf } from './admin-request.ts';
import type { AdminScope } from './admin-scope.ts';

/** How much of a command the audit keeps. */
const AUDITED_LENGTH = 2000;

const KINDS: Readonly<Record<ApprovalDecision, string>> = { 'allow-once': 'approval-allowed', deny: 'approval-denied' };

/** Commands of runs that wait for an operator, where an agent gives Sealane the right to decide. */
export const addApprovalRoutes = ({ add, send, deps }: AdminScope): void => {
  const { storage, registry } = deps;

  /** An agent may only think that a run is for a task of ours; the store knows. */
  const isForTaskOf = async ({ name }: AgentEntry, { taskId }: Approval): Promise<boolean> => {
    const task = await storage.tasks.find('all', taskId);
    return task !== undefined && task.agent === name && !isTerminal(task.state);
  };

  const waitingFor = async (entry: AgentEntry): Promise<readonly Approval[]> => {
    const listed = (await entry.connector.approvals?.list()) ?? [];
    const isOurs = await Promise.all(listed.map((one) => isForTaskOf(entry, one)));
    return listed.filter((_, index) => isOurs[index]);
  };

  const look = async (
    entry: AgentEntry,
  ): Promise<{ readonly entry: AgentEntry; readonly waiting: readonly Approval[]; readonly problem?: string }> => {
    try {
      return { entry, waiting: await waitingFor(entry) };
    } catch (error) {
      return { entry, waiting: [], problem: error instanceof Error ? error.message : String(error) };
    }
  };

  const lookAround = (): ReturnType<typeof look>[] =>
    registry
      .list()
      .filter(({ connector }) => connector.approvals !== undefined)
      .map(look);

  add('/approvals', {
    GET: async (request, reply) => {
      const found = await Promise.all(lookAround());
      const approvals = found
        .flatMap(({ entry, waiting }) => waiting.map((one) => ({ ...one, agent: entry.name })))
        .toSorted((a, b) => a.createdAt - b.createdAt)
        .map((one) => ({ ...one, createdAt: isoOf(one.createdAt), expiresAt: isoOf(one.expiresAt) }));
      const problems = found.flatMap(({ entry, problem }) =>
        problem === undefined ? [] : [{ agent: entry.name, problem }],
      );
      send(request, reply, 200, JSON.stringify({ agents: found.map(({ entry }) => entry.name), approvals, problems }));
    },
  });

  add('/approvals/:id', {
    POST: async (request, reply) => {
      const decision = decisionOf(request);
      const id = paramOf(request, 'id');
      const found = await Promise.all(lookAround());
      const place = found.find(({ waiting }) => waiting.some((one) => one.id === id));
      const approval = place?.waiting.find((one) => one.id === id);
      const problem = found.find((one) => one.problem !== undefined)?.problem;
      if (!place || !approval) throw notWaiting(id, found.length, problem);
      const { taskId, command } = approval;
      const agent = place.entry.name;
      // Written before it counts: a command that was allowed is never without a trace.
      await storage.audit.record({
        at: deps.now(),
        kind: KINDS[decision],
        actor: holderOf(request).keyId,
        subject: taskId,
        facts: { approval: id, agent, command: command.slice(0, AUDITED_LENGTH) },
      });
      if (!(await place.entry.connector.approvals?.resolve(id, decision)))
        throw notWaiting(id, found.length, undefined);
      send(request, reply, 200, JSON.stringify({ id, decision, taskId, agent }));
    },
  });
};

const decisionOf = (request: FastifyRequest): ApprovalDecision => {
  const decision = findId(bodyOf(request)['decision'], 'decision');
  if (decision === 'allow-once' || decision === 'deny') return decision;
  throw invalid('decision', 'must be "allow-once" or "deny".');
};

const notWaiting = (id: string, agents: number, problem: string | undefined): SealaneError => {
  if (problem !== undefined) return new SealaneError('unavailable', problem);
  return new SealaneError(
    'not-found',
    agents === 0
      ? 'No agent lets Sealane decide on commands. For an OpenClaw agent, set approvals: sealane.'
      : `Nothing with the id "${id.slice(0, 128)}" waits for a decision, or not any more: GET /admin/approvals lists what does.`,
  );
};
