import { once } from 'node:events';
import { createServer } from 'node:net';

import { pino } from 'pino';
import { describe, expect, it } from 'vitest';

import { VERSION } from 'sealane';

import { openPostgres } from '../packages/sealane/src/store/postgres/index.ts';
import { answerOf, refusalOf } from './support/a2a-client.ts';
import { eventually } from './support/eventually.ts';
import { freshSchema } from './support/fresh-schema.ts';
import { createGateAgent } from './support/gate-agent.ts';
import { freshFolder, serve } from './support/served-process.ts';
import { openService } from './support/service.ts';
import { createConfig, logOf, withWebhook } from './support/webhook-calls.ts';
import { isEnd, type Received, startReceiver } from './support/webhook-receiver.ts';

const allowPrivateWebhooks = true;

/** A poll so slow that a delivery within a test's time was started by its hint. */
const push = { pollMs: 600_000, graceMs: 100 };

const bodiesOf = (received: readonly Received[]): readonly unknown[] => received.map(({ body }) => body);

describe('a webhook', () => {
  it('given with a message is told every event from the first on, in order, as the stream tells it', async () => {
    await using receiver = await startReceiver();
    await using service = await openService({ allowPrivateWebhooks, push });
    const config = {
      url: `${receiver.url}/hook?a=b`,
      token: 'the token',
      authentication: { scheme: 'Bearer', credentials: 'the-credentials' },
    };
    const task = await service.client.send('@stream 30 1', withWebhook(config));
    const told = await receiver.until('/hook?a=b', isEnd);
    expect(bodiesOf(told)).toEqual(await logOf(service.client, task.id));
    expect(told.length).toBeGreaterThan(30);
    for (const [index, { headers, text }] of told.entries()) {
      expect(headers).toEqual({
        'webhook-id': expect.stringMatching(new RegExp(`^${task.id}\\.\\d+\\.${index + 1}$`)),
        'content-type': 'application/a2a+json',
        'content-length': String(Buffer.byteLength(text)),
        authorization: 'Bearer the-credentials',
        'x-a2a-notification-token': 'the token',
        'a2a-version': '1.0',
        'user-agent': `Sealane/${VERSION}`,
        host: receiver.url.slice('http://'.length),
        connection: 'keep-alive',
      });
    }
    const metrics = await (
      await fetch(`${service.url}/metrics`, { headers: { authorization: 'Bearer the-admin-key' } })
    ).text();
    expect(metrics).toContain(`sealane_push_deliveries_total{outcome="delivered"} ${told.length}`);
  });

  it('without secrets is sent none', async () => {
    await using receiver = await startReceiver();
    await using service = await openService({ allowPrivateWebhooks, push });
    await service.client.send('hello', withWebhook({ url: `${receiver.url}/hook` }));
    const [first] = await receiver.until('/hook', isEnd);
    expect(Object.keys(first?.headers ?? {})).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/authorization|token/)]),
    );
  });

  it('is one of several that are all told everything', async () => {
    await using receiver = await startReceiver();
    const gate = createGateAgent();
    await using service = await openService({ allowPrivateWebhooks, push, agents: { gate: gate.connector } });
    const task = await service.client.submit('work', withWebhook({ id: 'one', url: `${receiver.url}/one` }));
    const run = await gate.started('work');
    await createConfig(service.client, task.id, { id: 'two', url: `${receiver.url}/two` });
    await run.io.emit({ kind: 'artifact', artifact: { artifactId: 'a', parts: [{ text: 'after' }] } });
    run.end();
    const [one, two] = [await receiver.until('/one', isEnd), await receiver.until('/two', isEnd)];
    const log = await logOf(service.client, task.id);
    expect(bodiesOf(one)).toEqual(log);
    // It came when the run had started, and is told what comes after that.
    expect(bodiesOf(two)).toEqual(log.slice(2));
  });

  it('that comes with a follow-up is told from that message on, and once though it comes each time', async () => {
    await using receiver = await startReceiver();
    await using service = await openService({ allowPrivateWebhooks, push });
    const { id } = await service.client.send('@ask which?');
    const before = (await service.sealane.tasks.get(service.caller, id)).seq;
    const hook = withWebhook({ url: `${receiver.url}/hook` });
    await service.client.send('@ask and now?', { taskId: id, ...hook });
    await service.client.send('that one', { taskId: id, ...hook });
    const told = await receiver.until('/hook', isEnd);
    expect(bodiesOf(told)).toEqual((await logOf(service.client, id)).slice(before));
    const { configs } = await service.client.call<{ configs: unknown[] }>('ListTaskPushNotificationConfigs', {
      taskId: id,
    });
    expect(configs).toHaveLength(1);
  });

  it('of an older dialect is sent the whole task as it was at each change of its state, and no chunks', async () => {
    await using receiver = await startReceiver();
    await using service = await openService({ allowPrivateWebhooks, push });
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: '@stream 20 1' }] } as const;
    for (const dialect of ['0.3', '0.1']) {
      const request = { message, dialect, push: { url: `${receiver.url}/${dialect}`, dialect, taskName: 'mine' } };
      const options = { wait: true, signal: new AbortController().signal };
      await service.sealane.tasks.send(service.caller, request, options);
      const states = (received: readonly Received[]): readonly unknown[] =>
        received.map(({ body }) => (body['status'] as { state: string }).state);
      const told = await receiver.until(`/${dialect}`, (received) => states([received])[0] === 'completed');
      expect(states(told)).toEqual(['submitted', 'working', 'completed']);
      expect(told.map(({ headers }) => headers['content-type'])).toEqual(Array(3).fill('application/json'));
      expect(told.map(({ headers }) => headers['a2a-version'])).toEqual(Array(3).fill(dialect));
      expect(told[0]?.body['artifacts'] ?? []).toEqual([]);
      expect(told[2]?.body['artifacts']).toHaveLength(1);
    }
  });

  it('of an older dialect that has a token alone finds it as a bearer token, too', async () => {
    await using receiver = await startReceiver();
    await using service = await openService({ allowPrivateWebhooks, push });
    const sentTo = async (dialect: string, authentication?: { readonly scheme: string }): Promise<unknown> => {
      const url = `${receiver.url}/${dialect}-${authentication?.scheme}`;
      const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hello' }] } as const;
      const config = { url, dialect, token: 'tok', taskName: 'mine', ...(authentication && { authentication }) };
      const options = { wait: true, signal: new AbortController().signal };
      await service.sealane.tasks.send(service.caller, { message, dialect, push: config }, options);
      const [first] = await receiver.first(new URL(url).pathname, 1);
      expect(first?.headers['x-a2a-notification-token']).toBe('tok');
      return first?.headers.authorization;
    };
    expect(await sentTo('0.3')).toBe('Bearer tok');
    expect(await sentTo('0.1')).toBe('Bearer tok');
    expect(await sentTo('0.3', { scheme: 'Bearer' })).toBe('Bearer tok');
    expect(await sentTo('0.3', { scheme: 'Basic' })).toBeUndefined();
    expect(await sentTo('1.0')).toBeUndefined();
  });

  it('that is slow, dead or refuses delays neither the task nor the others', async () => {
    await using receiver = await startReceiver();
    const gate = createGateAgent();
    await using service = await openService({
      allowPrivateWebhooks,
      push: { ...push, timeoutMs: 400 },
      agents: { gate: gate.connector },
    });
    receiver.answer('/slow', () => undefined);
    receiver.answer('/refuses', (response) => response.writeHead(500).end('no'));
    const gone = createServer().listen(0, '127.0.0.1');
    await once(gone, 'listening');
    const { port } = gone.address() as { port: number };
    gone.close();
    const task = await service.client.submit('work', withWebhook({ url: `${receiver.url}/slow` }));
    const run = await gate.started('work');
    for (const url of [`http://127.0.0.1:${port}`, `${receiver.url}/refuses`, `${receiver.url}/good`])
      await createConfig(service.client, task.id, { url });
    await run.io.emit({ kind: 'artifact', artifact: { artifactId: 'a', parts: [{ text: 'done' }] } });
    run.end();
    await receiver.until('/good', isEnd);
    // Before it hears of the end, the slow one has let the time for the event before that go by.
    expect(receiver.at('/slow').some(isEnd)).toBe(false);
    expect(answerOf(await service.client.get(task.id))).toBe('done');
    // Each event is tried once, in order, whatever came of the one before.
    const slow = await receiver.until('/slow', isEnd);
    expect(bodiesOf(slow)).toEqual(await logOf(service.client, task.id));
    expect(bodiesOf(await receiver.until('/refuses', isEnd))).toEqual(bodiesOf(receiver.at('/good')));
  });

  it('many that keep us waiting do not hold up one that answers', async () => {
    await using receiver = await startReceiver();
    const settings = { ...push, timeoutMs: 60_000, atOnce: 4, slowMs: 50 };
    await using service = await openService({ allowPrivateWebhooks, push: settings });
    receiver.answer('/stuck', () => undefined);
    for (let n = 0; n < 12; n += 1) await service.client.send('x', withWebhook({ url: `${receiver.url}/stuck` }));
    await service.client.send('hello', withWebhook({ url: `${receiver.url}/good` }));
    await receiver.until('/good', isEnd);
  });

  it('is told on one connection, and on a new one when that is gone', async () => {
    await using receiver = await startReceiver();
    const sockets = new Set<unknown>();
    const remember = (response: { socket: unknown }): void => void sockets.add(response.socket);
    receiver.answer('/hook', (response) => {
      remember(response);
      response.end();
    });
    await using service = await openService({ allowPrivateWebhooks, push });
    const hook = withWebhook({ url: `${receiver.url}/hook` });
    await service.client.send('@stream 10 1', hook);
    await receiver.until('/hook', isEnd);
    expect(sockets.size).toBe(1);
    const before = receiver.at('/hook').length;
    for (const socket of sockets) (socket as { destroy(): void }).destroy();
    const { id } = await service.client.send('hello', hook);
    const log = await logOf(service.client, id);
    const told = (await receiver.first('/hook', before + log.length)).slice(before);
    expect(bodiesOf(told)).toEqual(log);
  });

  it('that redirects is not followed', async () => {
    await using receiver = await startReceiver();
    await using service = await openService({ allowPrivateWebhooks, push });
    receiver.answer('/from', (response) => response.writeHead(307, { location: `${receiver.url}/to` }).end());
    await service.client.send('hello', withWebhook({ url: `${receiver.url}/from` }));
    await receiver.until('/from', isEnd);
    expect(receiver.at('/to')).toEqual([]);
  });

  it('that answers without end is cut short, and told on', async () => {
    await using receiver = await startReceiver();
    await using service = await openService({ allowPrivateWebhooks, push });
    receiver.answer('/talks', (response) => {
      const talk = (): void => {
        while (!response.destroyed && response.write('x'.repeat(64 * 1024)));
      };
      response.on('drain', talk);
      talk();
    });
    await service.client.send('hello', withWebhook({ url: `${receiver.url}/talks` }));
    await receiver.until('/talks', isEnd);
  });
});

describe('webhooks of a task', () => {
  it('are made, read, listed, replaced and removed, also when the task has ended', async () => {
    await using service = await openService({ allowPrivateWebhooks, push });
    const { client } = service;
    const { id: taskId } = await client.send('hello');
    const url = 'https://example.com/hook';
    const made = await createConfig(client, taskId, { url, token: 't' });
    expect(made).toEqual({ id: expect.any(String), taskId, url, token: 't' });
    const named = await createConfig(client, taskId, { id: 'named', url });
    expect(await client.call('GetTaskPushNotificationConfig', { taskId, id: 'named' })).toEqual(named);
    const other = await createConfig(client, taskId, { id: 'named', url: `${url}/other` });
    expect(await client.call('ListTaskPushNotificationConfigs', { taskId })).toEqual({
      configs: [made, other].toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    });
    for (let n = 0; n < 2; n += 1) {
      expect(await client.call('DeleteTaskPushNotificationConfig', { taskId, id: 'named' })).toEqual({});
    }
    const unknown = await refusalOf(client.call('GetTaskPushNotificationConfig', { taskId, id: 'named' }));
    expect(unknown.code).toBe(-32001);
  });

  it('are at most twenty', async () => {
    await using service = await openService({ push });
    const { client } = service;
    const { id } = await client.send('hello');
    const url = 'https://example.com/hook';
    for (let n = 0; n < 20; n += 1) await createConfig(client, id, { id: `w${n}`, url });
    const refusal = await refusalOf(createConfig(client, id, { id: 'w20', url }));
    expect(refusal).toMatchObject({ code: -32602, message: expect.stringContaining('Remove one') });
    await createConfig(client, id, { id: 'w7', url: `${url}/again` });
  });

  it('belong to its owner: for others the task is as unknown as one that does not exist', async () => {
    await using receiver = await startReceiver();
    await using service = await openService({ allowPrivateWebhooks, push });
    const [ann, bob] = [await service.clientOf('ann'), await service.clientOf('bob')];
    const { id } = await ann.send('@ask which?', withWebhook({ id: 'hers', url: `${receiver.url}/hers` }));
    const unknown = '00000000-0000-7000-8000-000000000000';
    for (const [method, params] of [
      ['CreateTaskPushNotificationConfig', { url: `${receiver.url}/his` }],
      ['GetTaskPushNotificationConfig', { id: 'hers' }],
      ['ListTaskPushNotificationConfigs', {}],
      ['DeleteTaskPushNotificationConfig', { id: 'hers' }],
    ] as const) {
      const foreign = await refusalOf(bob.call(method, { taskId: id, ...params }));
      const missing = await refusalOf(bob.call(method, { taskId: unknown, ...params }));
      expect(foreign.code).toBe(-32001);
      expect(foreign.message.replaceAll(id, unknown)).toBe(missing.message);
    }
    const theft = withWebhook({ url: `${receiver.url}/his` });
    expect((await refusalOf(bob.send('mine', { taskId: id, ...theft }))).code).toBe(-32001);
    await ann.send('done', { taskId: id });
    await receiver.until('/hers', isEnd);
    expect(receiver.at('/his')).toEqual([]);
  });

  it('may lead inside only when the operator says so', async () => {
    await using service = await openService({ push });
    const { client } = service;
    const { id } = await client.send('hello');
    const inside = ['127.0.0.1', '2130706433', '0x7f.1', '10.1.2.3', '169.254.169.254', '100.64.0.1', '0.0.0.0'];
    const names = ['localhost', 'LOCALHOST.', 'a.localhost', 'printer.local', 'metadata.google.internal'];
    const ipv6 = [
      '[::1]',
      '[::]',
      '[::ffff:127.0.0.1]',
      '[64:ff9b::a00:1]',
      '[2002:7f00:1::]',
      '[fe80::1]',
      '[fd00::1]',
    ];
    for (const host of [...inside, ...names, ...ipv6]) {
      const config = { url: `http://${host}:8080/hook` };
      const refusal = await refusalOf(createConfig(client, id, config));
      expect(refusal, host).toMatchObject({
        code: -32602,
        message: expect.stringContaining('--allow-private-webhooks'),
      });
      expect((await refusalOf(client.send('x', withWebhook(config)))).code, host).toBe(-32602);
    }
    expect((await client.list()).tasks).toHaveLength(1);
    await createConfig(client, id, { url: 'https://8.8.8.8/hook' });
    await createConfig(client, id, { url: 'https://[2606:4700::1111]/hook' });
  });

  it('never show their secrets or their addresses in the log', async () => {
    await using receiver = await startReceiver();
    const lines: string[] = [];
    const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
    await using service = await openService({ allowPrivateWebhooks, push, log });
    receiver.answer('/refuses?key=in-the-url', (response) => response.writeHead(401).end('secret-answer'));
    const config = (url: string): object => ({
      url,
      token: 'secret-token',
      authentication: { scheme: 'Bearer', credentials: 'secret-credentials' },
    });
    await service.client.send('hello', withWebhook(config('http://127.0.0.1:1/away?key=in-the-url')));
    const task = await service.client.send('hello', withWebhook(config(`${receiver.url}/refuses?key=in-the-url`)));
    await receiver.until('/refuses?key=in-the-url', isEnd);
    await eventually(() => {
      expect(lines.join('')).toContain('webhook not told');
      expect(lines.join('')).toContain('ECONNREFUSED');
    });
    expect(lines.join('')).toContain(task.id);
    expect(lines.join('')).not.toMatch(/secret-|in-the-url/);
  });
});

describe('deliveries', () => {
  it('that a killed service owes are made after its restart, in order', async () => {
    using folder = freshFolder();
    await using receiver = await startReceiver();
    const held = Promise.withResolvers<void>();
    receiver.answer('/hook', () => held.resolve());
    const args = ['--allow-private-webhooks'];
    let id: string;
    {
      await using killed = await serve(folder.path, { args });
      ({ id } = await killed.client.send('@stream 5 1', withWebhook({ url: `${receiver.url}/hook` })));
      await held.promise;
      await killed.kill();
    }
    expect(receiver.at('/hook')).toHaveLength(1);
    receiver.answer('/hook', (response) => void response.end());
    await using restarted = await serve(folder.path, { args });
    const told = (await receiver.until('/hook', isEnd)).slice(1);
    // The one that was under way may have been heard, and is told again.
    expect(bodiesOf(told)).toEqual(await logOf(restarted.client, id));
  });

  it('that are under way when the service stops are finished, or made after the next start', async () => {
    using folder = freshFolder();
    await using receiver = await startReceiver();
    const store = `sqlite:${folder.path}/tasks.db`;
    const held = Promise.withResolvers<void>();
    receiver.answer('/hook', () => held.resolve());
    const first = await openService({ store, allowPrivateWebhooks, push });
    const { id } = await first.client.send('hello', withWebhook({ url: `${receiver.url}/hook` }));
    await held.promise;
    await first.close();
    receiver.answer('/hook', (response) => void response.end());
    await using second = await openService({ store, allowPrivateWebhooks, push });
    const told = (await receiver.until('/hook', isEnd)).slice(1);
    expect(bodiesOf(told)).toEqual(await logOf(second.client, id));
  });

  it('of the last events reach their webhook before the service has closed', async () => {
    await using receiver = await startReceiver();
    const service = await openService({ allowPrivateWebhooks, push: { ...push, graceMs: 10_000 } });
    await service.client.send('hello', withWebhook({ url: `${receiver.url}/hook` }));
    await service.close();
    expect(receiver.at('/hook').filter(isEnd)).toHaveLength(1);
  });

  it('of two services on one database are made once each, in order, whoever makes them', async () => {
    await using receiver = await startReceiver();
    const place = freshSchema();
    await using here = await openPostgres(place);
    await using there = await openPostgres(place);
    const options = { allowPrivateWebhooks, push: { ...push, pollMs: 50 } };
    await using one = await openService({ ...options, store: here });
    await using two = await openService({ ...options, store: there });
    const sent = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        (n % 2 === 0 ? one : two).client.send('@stream 10 2', withWebhook({ url: `${receiver.url}/${n}` })),
      ),
    );
    for (const [n, { id }] of sent.entries()) {
      const told = await receiver.until(`/${n}`, isEnd);
      expect(bodiesOf(told)).toEqual(await logOf(one.client, id));
    }
    for (const [n] of sent.entries()) expect(receiver.at(`/${n}`).filter(isEnd)).toHaveLength(1);
  });

  it('on PostgreSQL that a vanished instance had claimed are made by another', async () => {
    await using receiver = await startReceiver();
    const place = freshSchema();
    await using here = await openPostgres(place);
    await using there = await openPostgres(place);
    // An instance that claims and is never heard of again.
    const vanishing = { ...here, outbox: { ...here.outbox, claim: async () => [] } };
    await using one = await openService({ store: vanishing, allowPrivateWebhooks, push });
    const { id } = await one.client.send('hello', withWebhook({ url: `${receiver.url}/hook` }));
    await here.tasks.renew('vanishing', 60_000);
    const claim = { kind: 'webhook', instance: 'vanishing', limit: 10, leaseMs: 300 } as const;
    expect(await here.outbox.claim(claim)).toHaveLength(1);
    await using two = await openService({ store: there, allowPrivateWebhooks, push: { ...push, pollMs: 50 } });
    expect(bodiesOf(await receiver.until('/hook', isEnd))).toEqual(await logOf(two.client, id));
  });
});

describe('a task without webhooks', () => {
  it('owes nobody anything', async () => {
    await using service = await openService({ push });
    const heard: unknown[] = [];
    using _ = service.sealane.storage.outbox.onOwed(() => heard.push(1));
    await service.client.send('@stream 5 1');
    expect(heard).toEqual([]);
    const { outbox, tasks } = service.sealane.storage;
    await tasks.renew('looker', 60_000);
    expect(await outbox.claim({ kind: 'webhook', instance: 'looker', limit: 10, leaseMs: 0 })).toEqual([]);
  });
});
