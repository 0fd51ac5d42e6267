import { describe, expect, it } from 'vitest';

import { createAgentRegistry } from '#engine';
import { createProtocol, TASK_LOG } from '#protocol';
import { NOTES } from '#protocol/extensions/notes.fixture';
import { nobody } from '#protocol/refusing-service.fixture';

import { createAddressFinder } from './rest-address.ts';
import { createV03Binding } from './v03-binding.ts';
import { createV1Binding } from './v1-binding.ts';

const deps = { service: nobody, registry: createAgentRegistry([]), version: '0' };
const protocol = createProtocol(deps);
const bindings = [createV03Binding(protocol), createV1Binding(protocol)];
const find = createAddressFinder(bindings, '');

/** The method that an address calls by this verb, and what it names. */
const meaning = (verb: string, url: string): unknown => {
  const address = find(url);
  if (!address) return undefined;
  const { agent, tenant, named, routes } = address;
  const method = routes.find((route) => route.verb === verb)?.method;
  return { method, named, ...(agent !== undefined && { agent }), ...(tenant !== undefined && { tenant }) };
};

describe('an address of REST', () => {
  it.each([
    ['POST', '/message:send', { method: 'SendMessage', named: {} }],
    ['POST', '/message:stream/', { method: 'SendStreamingMessage', named: {} }],
    ['GET', '/tasks?pageSize=1', { method: 'ListTasks', named: {} }],
    ['GET', '/tasks/t1', { method: 'GetTask', named: { id: 't1' } }],
    ['DELETE', '/tasks/t1', { method: 'tasks/delete', named: { id: 't1' } }],
    ['POST', '/tasks/t1:cancel', { method: 'CancelTask', named: { id: 't1' } }],
    ['POST', '/tasks/t1:subscribe', { method: 'SubscribeToTask', named: { id: 't1' } }],
    ['GET', '/tasks/t1:subscribe', { method: 'SubscribeToTask', named: { id: 't1' } }],
    ['GET', '/tasks/t1/events?after=3', { method: 'tasks/events', named: { id: 't1' } }],
    [
      'POST',
      '/tasks/t1/pushNotificationConfigs',
      { method: 'CreateTaskPushNotificationConfig', named: { taskId: 't1' } },
    ],
    [
      'DELETE',
      '/tasks/t1/pushNotificationConfigs/c1',
      { method: 'DeleteTaskPushNotificationConfig', named: { taskId: 't1', id: 'c1' } },
    ],
    ['GET', '/extendedAgentCard', { method: 'GetExtendedAgentCard', named: {} }],
    ['POST', '/v1/message:send', { method: 'message/send', named: {} }],
    ['POST', '/v1/tasks/t1:cancel', { method: 'tasks/cancel', named: { id: 't1' } }],
    ['GET', '/v1/card', { method: 'agent/getAuthenticatedExtendedCard', named: {} }],
  ])('%s %s calls a method', (verb, url, expected) => {
    expect(meaning(verb, url)).toEqual(expected);
    expect(meaning(verb, `/a2a${url}`)).toEqual(expected);
    expect(meaning(verb, `/agents/x%2Fy${url}`)).toEqual({ ...expected, agent: 'x/y' });
  });

  it('may name a tenant before its path, under every base, in 1.0 only', () => {
    expect(meaning('GET', '/t%2F1/tasks/x')).toEqual({ method: 'GetTask', named: { id: 'x' }, tenant: 't/1' });
    expect(meaning('GET', '/a2a/acme/tasks')).toEqual({ method: 'ListTasks', named: {}, tenant: 'acme' });
    const sent = { method: 'SendMessage', named: {}, agent: 'echo', tenant: 'acme' };
    expect(meaning('POST', '/agents/echo/acme/message:send')).toEqual(sent);
    expect(find('/v1/acme/tasks')).toBeUndefined();
    expect(find('/acme/v1/tasks')).toBeUndefined();
  });

  it.each(['admin', 'agents', 'a2a', 'v1', 'healthz', 'readyz', 'metrics', '.well-known', 'tasks', 'message:send'])(
    'takes no "%s" for a tenant',
    (word) => {
      expect(find(`/${word}/extendedAgentCard`)?.tenant).toBeUndefined();
      expect(find(`/a2a/${word}/tasks`)?.tenant).toBeUndefined();
      expect(find(`/${encodeURIComponent(word)}/message:stream`)?.tenant).toBeUndefined();
    },
  );

  it.each([
    'a:b',
    ':',
    'x:cancel',
    'x:subscribe',
    'a/b',
    'a b',
    'ä€😀',
    'a%2Fb',
    '%',
    '..',
    'tasks',
    'events',
    "~!@$&'()*+,;=?#[]",
    '"<>\\^`{|}',
  ])('names any id, encoded: %s', (id) => {
    const encoded = encodeURIComponent(id);
    expect(meaning('GET', `/tasks/${encoded}`)).toEqual({ method: 'GetTask', named: { id } });
    expect(meaning('POST', `/tasks/${encoded}:cancel`)).toEqual({ method: 'CancelTask', named: { id } });
    expect(meaning('GET', `/tasks/${encoded}/pushNotificationConfigs/${encoded}`)).toEqual({
      method: 'GetTaskPushNotificationConfig',
      named: { taskId: id, id },
    });
  });

  it('takes a bare colon for a part of the id, unless an action follows it', () => {
    expect(meaning('GET', '/tasks/urn:task:1')).toEqual({ method: 'GetTask', named: { id: 'urn:task:1' } });
    expect(meaning('POST', '/tasks/urn:task:1:cancel')).toEqual({ method: 'CancelTask', named: { id: 'urn:task:1' } });
  });

  it('has a pattern in which no name is left', () => {
    expect(find('/agents/a/b/tasks/c:cancel')?.pattern).toBe('/agents/{name}/{tenant}/tasks/{id}:cancel');
    expect(find('/a2a/v1/tasks/c')?.pattern).toBe('/a2a/v1/tasks/{id}');
  });

  it('is found where the service is mounted, and in whole addresses', () => {
    const mounted = createAddressFinder(bindings, '/deep/down');
    expect(mounted('/deep/down/tasks/x')?.named).toEqual({ id: 'x' });
    expect(mounted('/deep/down/v1/tasks/x')?.named).toEqual({ id: 'x' });
    expect(find('http://127.0.0.1:1/tasks/x')?.named).toEqual({ id: 'x' });
  });

  it.each([
    '/',
    '/a2a',
    '/agents',
    '/agents/x',
    '/tasks/a/b',
    '/nothing',
    '/tasks/x/events/y',
    '/a/b/tasks',
    '/message',
  ])('is not %s', (url) => {
    expect(find(url)).toBeUndefined();
  });

  it('that cannot be decoded, or is very long, does no harm', () => {
    expect(find('/tasks/%zz')?.named).toEqual({ id: '%zz' });
    expect(find(`${'/'.repeat(16_000)}x`)).toBeUndefined();
    expect(find(`/${'a/'.repeat(8000)}tasks`)).toBeUndefined();
  });

  it.each([
    ['/tasks/{id}', 'The methods GetTask, tasks/delete, notes/read cannot share the address /tasks/{id}'],
    [
      '/tasks/{taskId}',
      'The addresses /tasks/{id} and /tasks/{taskId} of the methods GetTask, tasks/delete, notes/read',
    ],
  ])('has one meaning: an extension that claims GET %s is refused at start', (path, words) => {
    const routes = [{ verb: 'GET', path, method: 'notes/read' } as const];
    const claiming = createProtocol({ ...deps, extensions: [TASK_LOG, { ...NOTES, routes }] });
    expect(() => createAddressFinder([createV1Binding(claiming)], '')).toThrow(
      expect.objectContaining({ code: 'bad-config', message: expect.stringContaining(words) as string }) as object,
    );
  });
});
