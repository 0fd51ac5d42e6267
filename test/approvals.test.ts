import type { AgentConnector, Approval, ApprovalDecision } from '#agents';
import { describe, expect, it } from 'vitest';

import { refusalOf } from './support/a2a-client.ts';
import type { AuditEntry } from './support/admin-client.ts';
import { createGateAgent } from './support/gate-agent.ts';
import { openService, type TestService } from './support/service.ts';

interface Page {
  readonly agents: readonly string[];
  readonly approvals: readonly { readonly id: string; readonly taskId: string; readonly agent: string }[];
  readonly problems: readonly { readonly agent: string; readonly problem: string }[];
}

/** An agent with a list of commands that wait, and what was decided on them. */
const openDeciding = async (
  isReachable = true,
): Promise<{ service: TestService; waiting: Approval[]; decided: [string, ApprovalDecision][]; taskId: string }> => {
  const waiting: Approval[] = [];
  const decided: [string, ApprovalDecision][] = [];
  const gate = createGateAgent();
  const deciding: AgentConnector = {
    ...gate.connector,
    approvals: {
      list: async () => {
        if (!isReachable) throw new Error('The agent cannot be reached.');
        return waiting;
      },
      resolve: async (id, decision) => {
        const index = waiting.findIndex((one) => one.id === id);
        if (index < 0) return false;
        waiting.splice(index, 1);
        decided.push([id, decision]);
        return true;
      },
    },
  };
  const service = await openService({
    agents: { main: { connector: deciding, default: true }, other: createGateAgent().connector },
  });
  const { id: taskId } = await service.client.submit('work');
  await gate.started('work');
  return { service, waiting, decided, taskId };
};

const approval = (id: string, taskId: string): Approval => ({
  id,
  taskId,
  command: `touch ${id}`,
  createdAt: 1_700_000_000_000,
  expiresAt: 1_700_001_800_000,
});

describe('commands that wait for an operator', () => {
  it('are listed with task, agent, command, age and expiry, and only those of tasks that are at work', async () => {
    const { service, waiting, taskId } = await openDeciding();
    await using _ = service;
    const ended = await service.client.with({ path: '/agents/other' }).submit('over');
    await service.client.cancel(ended.id);
    waiting.push(approval('a-1', taskId), approval('a-2', 'nobody'), approval('a-3', ended.id));
    expect(await service.admin.get<Page>('/approvals')).toEqual({
      agents: ['main'],
      approvals: [
        {
          id: 'a-1',
          taskId,
          agent: 'main',
          command: 'touch a-1',
          createdAt: '2023-11-14T22:13:20.000Z',
          expiresAt: '2023-11-14T22:43:20.000Z',
        },
      ],
      problems: [],
    });
  });

  it.each(['allow-once', 'deny'] as const)(
    'are decided on (%s) by admin keys, which leaves a trace',
    async (decision) => {
      const { service, waiting, decided, taskId } = await openDeciding();
      await using _ = service;
      waiting.push(approval('a-1', taskId));
      expect(await service.admin.post('/approvals/a-1', { decision })).toEqual({
        id: 'a-1',
        decision,
        taskId,
        agent: 'main',
      });
      expect(decided).toEqual([['a-1', decision]]);
      const { events } = await service.admin.get<{ events: AuditEntry[] }>(`/audit?subject=${taskId}`);
      expect(events).toMatchObject([
        {
          kind: decision === 'deny' ? 'approval-denied' : 'approval-allowed',
          facts: { approval: 'a-1', agent: 'main', command: 'touch a-1' },
        },
      ]);
      await expect(service.admin.post('/approvals/a-1', { decision })).rejects.toMatchObject({ status: 404 });
      expect(decided).toHaveLength(1);
    },
  );

  it('are not decided on by other keys, by words that are none, or for what is not a task of ours', async () => {
    const { service, waiting, decided, taskId } = await openDeciding();
    await using _ = service;
    waiting.push(approval('a-1', taskId), approval('foreign', 'nobody'));
    const { key } = await service.admin.post<{ key: string }>('/keys', { name: 'mortal' });
    for (const [method, path] of [
      ['GET', '/approvals'],
      ['POST', '/approvals/a-1'],
    ] as const) {
      const response = await fetch(`${service.url}/admin${path}`, {
        method,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...(method === 'POST' && { body: JSON.stringify({ decision: 'allow-once' }) }),
      });
      expect(response.status).toBe(403);
    }
    await refusalOf(service.client.send('allow-once a-1', { taskId }));
    await expect(service.admin.post('/approvals/a-1', { decision: 'allow-always' })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('"allow-once" or "deny"') as string,
    });
    await expect(service.admin.post('/approvals/foreign', { decision: 'deny' })).rejects.toMatchObject({ status: 404 });
    expect(decided).toEqual([]);
  });

  it('say what is wrong when their agent cannot be asked, or when no agent lets Sealane decide', async () => {
    const { service } = await openDeciding(false);
    await using _ = service;
    expect((await service.admin.get<Page>('/approvals')).problems).toEqual([
      { agent: 'main', problem: 'The agent cannot be reached.' },
    ]);
    await expect(service.admin.post('/approvals/a-1', { decision: 'deny' })).rejects.toMatchObject({ status: 503 });
    await using plain = await openService();
    expect(await plain.admin.get<Page>('/approvals')).toEqual({ agents: [], approvals: [], problems: [] });
    await expect(plain.admin.post('/approvals/a-1', { decision: 'deny' })).rejects.toMatchObject({
      status: 404,
      message: expect.stringContaining('approvals: sealane') as string,
    });
  });
});
