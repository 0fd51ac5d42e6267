import { describe, expect, it } from 'vitest';

import type { NewEvent, State } from '#domain';
import type { StreamItem } from '#engine';
import type { StoredTask } from '#store';

import { createV01StreamEncoder } from './v01-encoder.ts';

const AT = '2026-01-02T03:04:05.006Z';
const taskIn = (state: State): StoredTask => ({
  id: 't',
  contextId: 'c',
  owner: 'o',
  tenant: '',
  agent: 'main',
  dialect: '0.1',
  lane: 'l',
  direct: false,
  state,
  statusMessage: null,
  statusAt: AT,
  createdAt: AT,
  updatedAt: AT,
  artifacts: '[{"artifactId":"a","parts":[{"text":"x"}]}]',
  history: '[]',
  metadata: '{}',
  seq: 3,
});
const snapshot = (state: State): StreamItem => ({ kind: 'task', seq: 3, task: taskIn(state) });
const eventItem = (event: NewEvent): StreamItem => ({
  kind: 'event',
  seq: 4,
  event: { seq: 4, at: AT, event },
  task: { id: 't', contextId: 'c' },
  frames: new Map(),
});

describe('a stream of 0.1', () => {
  it('begins with the status of the task, and that is all where the stream ends there', () => {
    const shown = (state: State, kind: 'send' | 'subscribe'): unknown =>
      JSON.parse(createV01StreamEncoder('mine', kind, undefined)(snapshot(state)));
    expect(shown('working', 'send')).toEqual({ id: 'mine', status: { state: 'working', timestamp: AT }, final: false });
    expect(shown('input-required', 'send')).toMatchObject({ final: true });
    expect(shown('input-required', 'subscribe')).toMatchObject({ final: false });
    expect(shown('auth-required', 'send')).toMatchObject({ status: { state: 'input-required' }, final: true });
    expect(shown('rejected', 'subscribe')).toMatchObject({ status: { state: 'failed' }, final: true });
  });

  it('does not end where the agent waits for a sign-in elsewhere', () => {
    const encode = createV01StreamEncoder('mine', 'send', undefined);
    const asked = eventItem({ kind: 'status-reported', state: 'auth-required' });
    expect(JSON.parse(encode(asked))).toMatchObject({ status: { state: 'input-required' }, final: false });
  });

  it('counts on from the artifacts that the task had when it began', () => {
    const encode = createV01StreamEncoder('mine', 'send', undefined);
    encode(snapshot('working'));
    const added = (artifactId: string): unknown =>
      JSON.parse(encode(eventItem({ kind: 'artifact-added', artifact: { artifactId, parts: [{ text: 'y' }] } })));
    expect([added('b'), added('a')]).toMatchObject([{ artifact: { index: 1 } }, { artifact: { index: 0 } }]);
  });
});
