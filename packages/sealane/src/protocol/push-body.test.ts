import { describe, expect, it } from 'vitest';

import type { NewEvent } from '#domain';
import type { PushConfig } from '#engine';
import type { StoredTask } from '#store';

import { encodePushBody } from './push-body.ts';

const AT = '2026-01-02T03:04:05.006Z';
const question = {
  messageId: 'q',
  role: 'ROLE_AGENT',
  parts: [{ text: 'which?' }],
  taskId: 't',
  contextId: 'c',
} as const;
const task: StoredTask = {
  id: 't',
  contextId: 'c',
  owner: 'o',
  tenant: '',
  agent: 'main',
  dialect: '0.1',
  lane: 'l',
  direct: false,
  state: 'auth-required',
  statusMessage: JSON.stringify(question),
  statusAt: AT,
  createdAt: AT,
  updatedAt: AT,
  artifacts: JSON.stringify([{ artifactId: 'a', name: 'n', parts: [{ url: 'https://a.b/' }] }]),
  history: JSON.stringify([question]),
  metadata: '{"k":1}',
  seq: 3,
};
const config = (dialect: string, more: Partial<PushConfig> = {}): PushConfig => ({
  id: 'w',
  url: 'https://a.b',
  dialect,
  ...more,
});
const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] } as const;
const EVENTS: readonly (readonly [NewEvent, isTurningPoint: boolean])[] = [
  [{ kind: 'task-admitted', state: 'submitted', message }, true],
  [{ kind: 'run-started', state: 'working', attempt: 1 }, true],
  [{ kind: 'run-started', state: 'working', attempt: 2 }, false],
  [{ kind: 'status-reported', state: 'working' }, false],
  [{ kind: 'status-reported', state: 'input-required' }, true],
  [{ kind: 'message-received', state: 'working', message }, true],
  [{ kind: 'artifact-added', artifact: { artifactId: 'a', parts: [] } }, false],
  [{ kind: 'cancel-requested', state: 'working', by: 'o' }, false],
  [{ kind: 'run-lost', state: 'working', attempt: 1, retry: true }, false],
  [{ kind: 'turn-ended', state: 'completed' }, true],
];
const bodyFor = (webhook: PushConfig, event: NewEvent) => encodePushBody(webhook, { seq: 3, at: AT, event }, task);

describe('the body of a webhook', () => {
  it('is each event in 1.0, as in a stream', () => {
    for (const [event] of EVENTS) {
      const { body, contentType } = bodyFor(config('1.0'), event)!;
      expect(contentType).toBe('application/a2a+json');
      expect(Object.keys(JSON.parse(body) as object)).toEqual([
        event.kind === 'artifact-added' ? 'artifactUpdate' : 'statusUpdate',
      ]);
    }
  });

  it.each(['0.3', '0.1'])('is in %s the whole task, when its state has changed and not otherwise', (dialect) => {
    const told = EVENTS.map(([event]) => bodyFor(config(dialect), event)?.contentType);
    expect(told).toEqual(EVENTS.map(([, isTold]) => (isTold ? 'application/json' : undefined)));
  });

  it('speaks the dialect that it was registered in, and names the task as its caller does', () => {
    const ended: NewEvent = { kind: 'turn-ended', state: 'auth-required' };
    expect(JSON.parse(bodyFor(config('0.3'), ended)!.body)).toEqual({
      kind: 'task',
      id: 't',
      contextId: 'c',
      status: {
        state: 'auth-required',
        message: {
          kind: 'message',
          messageId: 'q',
          role: 'agent',
          parts: [{ kind: 'text', text: 'which?' }],
          taskId: 't',
          contextId: 'c',
        },
        timestamp: AT,
      },
      artifacts: [{ artifactId: 'a', name: 'n', parts: [{ kind: 'file', file: { uri: 'https://a.b/' } }] }],
      history: [expect.objectContaining({ kind: 'message', messageId: 'q' })],
      metadata: { k: 1 },
    });
    expect(JSON.parse(bodyFor(config('0.1', { taskName: 'mine' }), ended)!.body)).toEqual({
      id: 'mine',
      sessionId: 'c',
      status: {
        state: 'input-required',
        message: { role: 'agent', parts: [{ type: 'text', text: 'which?' }] },
        timestamp: AT,
      },
      artifacts: [{ name: 'n', parts: [{ type: 'file', file: { uri: 'https://a.b/' } }], index: 0 }],
      metadata: { k: 1 },
    });
  });
});
