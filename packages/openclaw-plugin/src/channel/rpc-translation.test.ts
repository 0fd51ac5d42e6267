import { describe, expect, it } from 'vitest';

import { findTaskId, translateCall, withoutTaskId } from './rpc-translation.ts';

const sent = (message: object, method = 'SendMessage') => ({
  jsonrpc: '2.0',
  id: 7,
  method,
  params: { tenant: 'any', message },
});

interface Sent {
  readonly method: string;
  readonly params: { readonly tenant?: string; readonly message: Readonly<Record<string, unknown>> };
}

describe('a call of the channel', () => {
  it.each([
    ['message/send', 'SendMessage'],
    ['tasks/get', 'GetTask'],
    ['SendMessage', 'SendMessage'],
    ['GetTask', 'GetTask'],
  ])('%s is %s of A2A 1.0, whatever version it names', (method, expected) => {
    const { body, version } = translateCall({ jsonrpc: '2.0', id: 1, method, params: { id: 'x' } });
    expect(body).toEqual({ jsonrpc: '2.0', id: 1, method: expected, params: { id: 'x' } });
    expect(version).toBe('1.0');
  });

  it.each(['constructor', '__proto__', 'CancelTask'])('%s is left as it is: the channel does not have it', (method) => {
    const body = { jsonrpc: '2.0', id: 1, method, params: { tenant: 'any' } };
    expect(translateCall(body)).toEqual({ body, version: undefined });
  });

  it('loses its tenant, gets a message id, and is the words of a user, whoever is said to speak', () => {
    for (const role of ['user', 'agent', 'ROLE_USER', 'ROLE_AGENT']) {
      const { params } = translateCall(sent({ role, parts: [{ text: 'hi' }] })).body as Sent;
      expect(params.tenant).toBeUndefined();
      expect(params.message).toMatchObject({ role: 'ROLE_USER', messageId: expect.any(String) as string });
    }
    const { params } = translateCall(sent({ messageId: 'mine', role: 'nobody', parts: [] })).body as Sent;
    expect(params.message).toMatchObject({ messageId: 'mine', role: 'nobody' });
  });

  it('loses parts that nobody could use, unless nothing would be left to refuse', () => {
    const parts = [{ kind: 'text', text: 'a' }, { kind: 'video' }, 'x', { data: null }];
    const kept = translateCall(sent({ role: 'user', parts })).body as Sent;
    expect(kept.params.message['parts']).toEqual([{ kind: 'text', text: 'a' }, { data: null }]);
    const none = translateCall(sent({ role: 'user', parts: [{ kind: 'video' }] })).body as Sent;
    expect(none.params.message['parts']).toEqual([{ kind: 'video' }]);
  });

  it.each([[[1, 2]], ['text'], [null], [{ method: 'message/stream', params: {} }], [{ method: 7 }]])(
    'that the channel does not have is left as it is: %j',
    (body) => {
      expect(translateCall(body)).toEqual({ body, version: undefined });
    },
  );

  it('can be made the beginning of a new task', () => {
    const { body } = translateCall(sent({ role: 'user', taskId: 't1', contextId: 'c1', parts: [{ text: 'hi' }] }));
    expect(findTaskId(body)).toBe('t1');
    const anew = withoutTaskId(body) as Sent;
    expect(findTaskId(anew)).toBeUndefined();
    expect(anew.params.message['contextId']).toBe('c1');
    expect(findTaskId({ method: 'GetTask', params: { id: 't1' } })).toBeUndefined();
  });
});
