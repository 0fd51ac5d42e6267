import { A2AService } from '@a2a-js/sdk/server/grpc';
import { pino } from 'pino';
import { createCommandAgent } from 'sealane';
import { describe, expect, it } from 'vitest';

import { createGrpcCaller, grpcRefusalOf } from './support/grpc-caller.ts';
import { getBytes } from './support/grpc-requests.ts';
import { startOwnPostgres } from './support/postgres.ts';
import { ADMIN_KEY, openService } from './support/service.ts';

const openLog = () => {
  const lines: string[] = [];
  return {
    log: pino({ level: 'info' }, { write: (line: string) => void lines.push(line) }),
    text: () => lines.join(''),
  };
};

describe('where the database is', () => {
  it('is told to no caller while it is away, by any binding, but to the operator and the log', async () => {
    const server = await startOwnPostgres();
    try {
      const { log, text } = openLog();
      await using service = await openService({ store: server.url, log, settings: { pollMs: 60_000 } });
      const { id } = await service.client.send('hello');
      const address = await service.sealane.listenGrpc();
      using grpc = createGrpcCaller(address, ADMIN_KEY);
      await server.crash();

      const headers = { authorization: `Bearer ${ADMIN_KEY}`, 'a2a-version': '1.0' };
      const ask = async (path: string, init: RequestInit = {}): Promise<string> => {
        const response = await fetch(service.url + path, init);
        return `${response.status} ${await response.text()}`;
      };
      const rpc = (method: string, params: object): Promise<string> =>
        ask('/a2a', {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json' },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
        });
      const heard = [
        await ask('/readyz'),
        await ask(`/tasks/${id}`, { headers }),
        await ask(`/tasks/${id}:subscribe`, { headers }),
        await rpc('GetTask', { id }),
        await rpc('SendMessage', { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] } }),
        // Nobody can look this key up.
        await ask('/admin/info', { headers: { authorization: 'Bearer sl_somebody' } }),
        JSON.stringify(await grpcRefusalOf(grpc.unary(A2AService.getTask.path, getBytes({ id })))),
      ];
      const { port } = new URL(server.url);
      for (const answer of heard) {
        expect(answer).not.toContain(port);
        expect(answer).not.toMatch(/postgres|127\.0\.0\.1|ECONN/i);
      }
      expect(heard[0]).toMatch(/^503 .*The store is away/);
      for (const answer of heard.slice(1)) expect(answer).toContain('The database of this service cannot do this now');
      const [, refused = ''] = heard;
      expect(refused).toMatch(/^503 /);
      expect(refused).toContain('UNAVAILABLE');

      expect(text()).toContain(`127.0.0.1:${port}`);
      expect(text()).toContain('not ready');
      expect((await service.admin.get<{ store: string }>('/health')).store).toContain(`127.0.0.1:${port}`);
      await expect(service.admin.get('/tasks')).rejects.toMatchObject({
        code: 'unavailable',
        message: expect.stringContaining(`127.0.0.1:${port}`) as string,
      });
      await server.start();
    } finally {
      await server.stop();
    }
  });
});

describe('the program of an agent', () => {
  it('that is missing is missing for callers; where it was looked for is told to the operator and the log', async () => {
    const { log, text } = openLog();
    const connector = createCommandAgent({
      command: ['no-such-program-anywhere'],
      env: { PATH: '/somewhere/private' },
    });
    await using service = await openService({ agents: { broken: { connector } }, log });
    const task = await service.client.send('hello');
    expect(task.status).toMatchObject({
      state: 'TASK_STATE_FAILED',
      message: { parts: [{ text: expect.stringContaining('is missing') as string }] },
    });
    const seen = JSON.stringify([task, await service.admin.get(`/tasks/${task.id}/events`)]);
    expect(seen).not.toMatch(/private|no-such-program/);
    expect(text()).toMatch(/task failed/);
    expect(text()).toContain('no-such-program-anywhere is not in PATH (/somewhere/private)');
    const { agents } = await service.admin.get<{ agents: readonly { detail: string }[] }>('/health');
    expect(agents[0]?.detail).toContain('is not in PATH (/somewhere/private)');
  });
});
