import { StreamResponse, Task } from '@a2a-js/sdk';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { type Artifact, type Message, type NewEvent, type State, STATES } from '#domain';
import type { StoredTask } from '#store';

import { encodeEvent, encodeStreamItem } from './event-encoder.ts';
import { STATE_NAMES } from './state-names.ts';
import { encodePage, encodeTask } from './task-encoder.ts';

const AT = '2026-01-02T03:04:05.006Z';
const text = fc.string({ unit: 'grapheme', minLength: 1 });
const metadata = fc
  .dictionary(
    text.filter((key) => key !== '__proto__'),
    fc.oneof(text, fc.integer(), fc.boolean()),
    { minKeys: 1 },
  )
  .map((entries) => ({ ...entries }));
const parts = fc.array(fc.oneof(fc.record({ text }), fc.record({ data: metadata })), { minLength: 1, maxLength: 3 });
const message: fc.Arbitrary<Message> = fc.record(
  {
    messageId: text,
    role: fc.constantFrom('ROLE_USER' as const, 'ROLE_AGENT' as const),
    parts,
    contextId: text,
    taskId: text,
    metadata,
  },
  { requiredKeys: ['messageId', 'role', 'parts'] },
);
const artifact: fc.Arbitrary<Artifact> = fc.record(
  { artifactId: text, parts, name: text, metadata },
  { requiredKeys: ['artifactId', 'parts'] },
);
const state: fc.Arbitrary<State> = fc.constantFrom(...STATES);

const stored = (more: Partial<StoredTask> = {}): StoredTask => ({
  id: 't1',
  contextId: 'c1',
  owner: 'o',
  tenant: '',
  agent: 'echo',
  dialect: '1.0',
  lane: 'l',
  direct: false,
  state: 'working',
  statusMessage: null,
  statusAt: AT,
  createdAt: AT,
  updatedAt: AT,
  artifacts: '[]',
  history: '[]',
  metadata: '{}',
  seq: 1,
  ...more,
});
const parse = (json: string): Record<string, unknown> => JSON.parse(json) as Record<string, unknown>;
/** What the official SDK makes of it: members that A2A 1.0 does not have are lost on this way. */
const throughSdk = (codec: { fromJSON(value: unknown): never; toJSON(value: never): unknown }, json: string): unknown =>
  codec.toJSON(codec.fromJSON(JSON.parse(json)));

describe('encoding a task', () => {
  it('is exactly what the official SDK reads and writes, for any content', () => {
    const task = fc.record({
      id: text,
      contextId: text,
      state,
      statusMessage: fc.option(message.map((value) => JSON.stringify(value))),
      artifacts: fc.array(artifact, { maxLength: 3 }).map((value) => JSON.stringify(value)),
      history: fc.array(message, { maxLength: 3 }).map((value) => JSON.stringify(value)),
      metadata: fc.option(metadata, { nil: {} }).map((value) => JSON.stringify(value)),
    });
    fc.assert(
      fc.property(task, (fields) => {
        const json = encodeTask(stored(fields));
        expect(throughSdk(Task as never, json)).toEqual(parse(json));
      }),
    );
  });

  it('leaves out what is empty', () => {
    expect(parse(encodeTask(stored()))).toEqual({
      id: 't1',
      contextId: 'c1',
      status: { state: 'TASK_STATE_WORKING', timestamp: AT },
    });
  });

  it('cuts the history to the newest messages, and to nothing at 0', () => {
    const history = JSON.stringify(['a', 'b', 'c'].map((messageId) => ({ messageId })));
    const lengthAt = (historyLength?: number) => parse(encodeTask(stored({ history }), { historyLength }))['history'];
    expect(lengthAt()).toHaveLength(3);
    expect(lengthAt(5)).toHaveLength(3);
    expect(lengthAt(2)).toEqual([{ messageId: 'b' }, { messageId: 'c' }]);
    expect(lengthAt(0)).toBeUndefined();
  });

  it("shows a waiting task's place among its metadata, whatever that holds", () => {
    fc.assert(
      fc.property(fc.oneof(metadata, fc.constant({}), fc.constant({ queuedAt: 'mine', a: 1 })), (own) => {
        const json = encodeTask(stored({ metadata: JSON.stringify(own), queuedAt: 5, queuePosition: 0 }));
        expect(parse(json)['metadata']).toEqual({ ...own, queuedAt: 5, queuePosition: 0 });
        // Once each: of a name given twice, readers take which they like.
        expect(json.split('"queuedAt":')).toHaveLength(2);
      }),
    );
  });

  it('lists pages with all four members, and artifacts only as asked', () => {
    const page = (artifacts: 'always' | 'never') =>
      parse(encodePage({ tasks: [stored()], total: 1 }, { pageSize: 50, artifacts }));
    expect(page('never')).toEqual({
      tasks: [parse(encodeTask(stored()))],
      nextPageToken: '',
      pageSize: 50,
      totalSize: 1,
    });
    expect(page('always')['tasks']).toEqual([{ ...parse(encodeTask(stored())), artifacts: [] }]);
    expect(parse(encodePage({ tasks: [], total: 7, next: 'n' }, { pageSize: 1 }))).toEqual({
      tasks: [],
      nextPageToken: 'n',
      pageSize: 1,
      totalSize: 7,
    });
  });
});

describe('encoding an event', () => {
  const event: fc.Arbitrary<NewEvent> = fc.oneof(
    fc.record(
      {
        kind: fc.constant('task-admitted' as const),
        state: fc.constant('submitted' as const),
        message,
        queuedAt: fc.nat(),
        queuePosition: fc.nat(),
      },
      { requiredKeys: ['kind', 'state', 'message'] },
    ),
    fc.record({ kind: fc.constant('message-received' as const), state, message }),
    fc.record({ kind: fc.constant('run-started' as const), state: fc.constant('working' as const), attempt: fc.nat() }),
    fc.record(
      { kind: fc.constant('status-reported' as const), state, message, metadata },
      { requiredKeys: ['kind', 'state'] },
    ),
    fc.record(
      {
        kind: fc.constant('artifact-added' as const),
        artifact,
        append: fc.boolean(),
        lastChunk: fc.boolean(),
        metadata,
      },
      { requiredKeys: ['kind', 'artifact'] },
    ),
    fc.record({ kind: fc.constant('cancel-requested' as const), state, by: text }),
    fc.record({ kind: fc.constant('run-lost' as const), state, attempt: fc.nat(), retry: fc.boolean() }),
    fc.record(
      { kind: fc.constant('turn-ended' as const), state, message, reason: text, forced: fc.boolean(), metadata },
      { requiredKeys: ['kind', 'state'] },
    ),
  );
  const task = { id: 't1', contextId: 'c1' };
  const encode = (value: NewEvent) => parse(encodeEvent({ seq: 1, at: AT, event: value }, task));

  it('is exactly one StreamResponse that the official SDK reads and writes', () => {
    fc.assert(
      fc.property(event, (value) => {
        const json = encodeEvent({ seq: 1, at: AT, event: value }, task);
        expect(throughSdk(StreamResponse as never, json)).toEqual(parse(json));
        expect(Object.keys(parse(json))).toHaveLength(1);
      }),
    );
  });

  it('puts what A2A has no member for into the metadata', () => {
    const update = (metadata: object | undefined, state: State) => ({
      statusUpdate: {
        taskId: 't1',
        contextId: 'c1',
        status: { state: STATE_NAMES[state], timestamp: AT },
        ...(metadata && { metadata }),
      },
    });
    expect(encode({ kind: 'run-started', state: 'working', attempt: 2 })).toEqual(update({ attempt: 2 }, 'working'));
    expect(encode({ kind: 'run-lost', state: 'working', attempt: 1, retry: true })).toEqual(
      update({ attempt: 1, retry: true }, 'working'),
    );
    expect(encode({ kind: 'cancel-requested', state: 'working', by: 'me' })).toEqual(
      update({ cancelRequested: true }, 'working'),
    );
    expect(
      encode({ kind: 'turn-ended', state: 'failed', reason: 'timeout', forced: true, metadata: { a: 1 } }),
    ).toEqual(update({ a: 1, reason: 'timeout', forced: true }, 'failed'));
    const asked: Message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] };
    expect(
      encode({ kind: 'task-admitted', state: 'submitted', message: asked, queuedAt: 9, queuePosition: 3 }),
    ).toEqual(update({ queuedAt: 9, queuePosition: 3 }, 'submitted'));
    expect(encode({ kind: 'task-admitted', state: 'submitted', message: asked })).toEqual(
      update(undefined, 'submitted'),
    );
    const snapshot = { state: 'completed' as const, statusAt: AT, artifacts: [], history: [], metadata: {} };
    expect(encode({ kind: 'task-put', state: 'completed', snapshot })).toEqual(update(undefined, 'completed'));
  });

  it('is made once and shared by its readers', () => {
    const item = {
      kind: 'event' as const,
      seq: 1,
      event: { seq: 1, at: AT, event: { kind: 'run-started', state: 'working', attempt: 1 } as const },
      task,
      frames: new Map<string, string>(),
    };
    const first = encodeStreamItem(item);
    item.frames.set('1.0', 'shared');
    expect(first).toContain('statusUpdate');
    expect(encodeStreamItem(item)).toBe('shared');
  });
});
