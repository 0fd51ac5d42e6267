import { A2AService } from '@a2a-js/sdk/server/grpc';
import { createEchoAgent } from 'sealane';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { refusalOf } from './support/a2a-client.ts';
import { type AuditEntry, createAdminClient } from './support/admin-client.ts';
import { isState } from './support/event-stream.ts';
import { eventually } from './support/eventually.ts';
import { createGrpcCaller, grpcRefusalOf } from './support/grpc-caller.ts';
import { readAll, subscribeBytes } from './support/grpc-requests.ts';
import { ADMIN_KEY, openService, type TestService } from './support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await openService({
    agents: {
      echo: { connector: createEchoAgent(), default: true, public: true },
      hidden: { connector: createEchoAgent() },
    },
  });
});
afterAll(() => service.close());

describe('a key', () => {
  it('is shown once, when it is made, and is never stored or listed', async () => {
    const made = await service.admin.post<{ id: string; name: string; key: string }>('/keys', { name: 'shown-once' });
    const listed = await service.admin.get<object>('/keys');
    expect(JSON.stringify(listed)).not.toContain(made.key);
    expect(listed).toMatchObject({
      keys: expect.arrayContaining([expect.objectContaining({ id: made.id, owner: 'shown-once', admin: false })]),
    });
    await expect(service.admin.post('/keys', { name: 'shown-once' })).rejects.toMatchObject({
      status: 409,
      code: 'conflict',
    });
  });

  it('that is wrong, or missing, is answered 401 in JSON, with what to send', async () => {
    for (const authorization of ['Bearer wrong', 'Basic YTpi', 'Bearer', '', undefined]) {
      const response = await fetch(`${service.url}/a2a`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(authorization !== undefined && { authorization }) },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ListTasks' }),
      });
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toBe('Bearer');
      expect(await response.json()).toMatchObject({
        error: { code: -32010, message: expect.stringContaining('Authorization: Bearer') },
      });
    }
    await expect(createAdminClient(service.url, 'wrong').get('/info')).rejects.toMatchObject({
      status: 401,
      code: 'unauthenticated',
    });
  });

  it('is needed for everything but health and the public card', async () => {
    for (const path of [
      '/healthz',
      '/readyz',
      '/.well-known/agent-card.json',
      '/agents/echo/.well-known/agent-card.json',
    ]) {
      expect([path, (await fetch(service.url + path)).status]).toEqual([path, 200]);
    }
    for (const path of ['/', '/a2a', '/agents/echo', '/admin/info', '/admin/nothing', '/nothing']) {
      expect([path, (await fetch(service.url + path, { method: 'POST' })).status]).toEqual([path, 401]);
    }
    expect(await (await fetch(`${service.url}/agents/hidden/.well-known/agent-card.json`)).json()).toHaveProperty(
      'error',
    );
  });

  it('that is limited to some agents cannot use others, by any address', async () => {
    const limited = await service.clientOf('limited', { agents: ['echo'] });
    expect((await limited.send('hello')).status.state).toBe('TASK_STATE_COMPLETED');
    for (const call of [
      limited.with({ path: '/agents/hidden' }).send('hello'),
      limited.send('hello', { metadata: { executor: 'hidden' } }),
    ]) {
      const refusal = await refusalOf(call);
      expect(refusal.code).toBe(-32011);
      expect(refusal.message).toContain('"hidden"');
    }
    await expect(service.admin.post('/keys', { name: 'typo', agents: ['ecko'] })).rejects.toMatchObject({
      status: 404,
    });
  });

  it('that is limited to some agents is told the names of no others', async () => {
    const limited = await service.clientOf('curious', { agents: ['echo'] });
    for (const call of [
      limited.with({ path: '/agents/nobody' }).send('hello'),
      limited.with({ path: '/agents/nobody' }).get('any'),
      limited.send('hello', { metadata: { executor: 'nobody' } }),
    ]) {
      const refusal = await refusalOf(call);
      expect(refusal.message).toContain('Known agents: echo.');
    }
    const open = await refusalOf(service.client.with({ path: '/agents/nobody' }).send('hello'));
    expect(open.message).toContain('Known agents: echo, hidden.');
  });

  it('works no longer when it was revoked, also for streams that are open and those that begin later', async () => {
    const made = await service.admin.post<{ id: string; key: string }>('/keys', { name: 'short-lived', owner: 'zoe' });
    const client = service.client.with({ key: made.key });
    const task = await client.submit('@sleep 600000');
    const stream = await client.subscribe(task.id);
    await stream.next();
    await service.admin.delete('/keys/short-lived');
    expect((await refusalOf(client.get(task.id))).status).toBe(401);
    expect((await refusalOf(client.subscribe(task.id))).status).toBe(401);
    expect(await stream.rest()).toMatchObject([
      { error: { code: -32010, message: expect.stringContaining('revoked') as string } },
    ]);
    await expect(service.admin.delete('/keys/short-lived')).rejects.toMatchObject({ status: 404 });
    // Its work goes on, under its owner's other keys.
    const other = await service.clientOf('zoe');
    expect((await other.get(task.id)).status.state).toBe('TASK_STATE_WORKING');
    await other.cancel(task.id);
  });

  it('that is revoked ends its streams over gRPC, and no others', async () => {
    const address = await service.sealane.listenGrpc();
    const made = await service.admin.post<{ key: string }>('/keys', { name: 'soon-gone', owner: 'yan' });
    const other = await service.clientOf('yan');
    const task = await other.submit('@sleep 600000');
    const stays = await other.subscribe(task.id);
    using caller = createGrpcCaller(address, made.key);
    const reader = caller.stream(A2AService.subscribeToTask.path, subscribeBytes(task.id));
    await reader.initial;
    const refused = grpcRefusalOf(readAll(reader));
    await service.admin.delete('/keys/soon-gone');
    expect(await refused).toMatchObject({ status: 'UNAUTHENTICATED', reason: 'UNAUTHENTICATED' });
    await other.cancel(task.id);
    await stays.until(isState('TASK_STATE_CANCELED'));
  });

  it('that expires works until then and not after', async () => {
    const before = Date.now();
    const client = await service.clientOf('mayfly', { expiresInMs: 400 });
    // Asked again and again from the start: refused at last, and not once before its time.
    const refusal = await eventually(() => refusalOf(client.list()));
    expect(refusal.status).toBe(401);
    expect(Date.now() - before).toBeGreaterThanOrEqual(400);
  });

  it('has a rate, and is told when to come back', async () => {
    const client = await service.clientOf('eager', { ratePerMinute: 3 });
    const refusal = await (async () => {
      for (let count = 0; count < 10; count += 1) {
        const answer = await client.list().catch((error: unknown) => error);
        if (answer instanceof Error) return await refusalOf(Promise.reject(answer));
      }
      throw new Error('Nobody was refused.');
    })();
    expect(refusal).toMatchObject({ status: 429, code: -32014 });
    expect(Number(refusal.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  it('leaves its making, its end and its refusals in the audit, never itself', async () => {
    const made = await service.admin.post<{ id: string; key: string }>('/keys', { name: 'audited' });
    await service.client.with({ key: made.key }).list();
    const denied = await fetch(`${service.url}/admin/keys`, { headers: { authorization: `Bearer ${made.key}` } });
    expect(denied.status).toBe(403);
    await service.admin.delete(`/keys/${made.id}`);
    await refusalOf(service.client.with({ key: made.key }).list());
    const kinds = await eventually(async () => {
      const { events } = await service.admin.get<{ events: AuditEntry[] }>(`/audit?subject=${made.id}`);
      expect(events).toHaveLength(5);
      expect(JSON.stringify(events)).not.toContain(made.key);
      return events.map(({ kind }) => kind).toReversed();
    });
    expect(kinds).toEqual(['key-created', 'key-used', 'refused-key', 'key-revoked', 'refused-key']);
  });
});

describe("the operator's interface", () => {
  it.each(['/info', '/health', '/tasks', '/tasks/x', '/lanes', '/audit', '/keys', '/export', '/backup'])(
    '%s needs an admin key',
    async (path) => {
      const made = await service.admin.post<{ key: string }>('/keys', { name: `plain${path.replaceAll('/', '-')}` });
      await expect(createAdminClient(service.url, made.key).get(path)).rejects.toMatchObject({
        status: 403,
        code: 'forbidden',
      });
    },
  );

  it("can be used with a made admin key as with the operator's own", async () => {
    const made = await service.admin.post<{ key: string }>('/keys', { name: 'deputy', admin: true });
    expect(made.key).not.toBe(ADMIN_KEY);
    expect(await createAdminClient(service.url, made.key).get('/info')).toMatchObject({
      agents: [{ name: 'echo' }, { name: 'hidden' }],
    });
  });
});
