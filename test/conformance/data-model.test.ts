import { randomUUID } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import type { WireTask } from '../support/a2a-client.ts';
import { ADMIN_KEY } from '../support/service.ts';
import { BINDINGS } from './drivers/driver.ts';
import { answerOf, expectRefusal, sending, useWorld } from './world.ts';

const world = useWorld();
const STATES = [
  'SUBMITTED',
  'WORKING',
  'INPUT_REQUIRED',
  'AUTH_REQUIRED',
  'COMPLETED',
  'FAILED',
  'CANCELED',
  'REJECTED',
];

describe.each(BINDINGS)('what is shown over %s', (binding) => {
  const { call, refused, send, submit, get } = world.speak(binding);

  it('is a task with an id, a status and a state that is defined [DM-TASK-001 DM-TASK-002 DM-STATUS-001]', async () => {
    const tasks = [await submit('@sleep 50')];
    for (const text of ['hello', '@ask Which?', '@auth Sign in.', '@fail now', '@reject now'])
      tasks.push(await send(text));
    for (const task of tasks) {
      expect(task).toMatchObject({ id: expect.stringMatching(/./), status: { state: expect.any(String) } });
      expect(STATES.map((state) => `TASK_STATE_${state}`)).toContain(task.status.state);
    }
  });

  it('has messages with id, role and parts, and those of the agent know where they belong [DM-MSG-001 DM-MSG-002 DM-MSG-003]', async () => {
    const task = await send('@ask Which?');
    const messages = [...(task.history ?? []), task.status.message!];
    expect(messages.map(({ role }) => role)).toEqual(['ROLE_USER', 'ROLE_AGENT', 'ROLE_AGENT']);
    for (const message of messages) {
      expect(message).toMatchObject({
        messageId: expect.stringMatching(/./),
        contextId: task.contextId,
        taskId: task.id,
      });
      expect(message.parts.length).toBeGreaterThan(0);
    }
    const { message } = await call<{ message: object }>('SendMessage', sending('@message hi'));
    expect(message).toMatchObject({ contextId: expect.stringMatching(/./) });
    expect(message).not.toHaveProperty('taskId');
  });

  it('has parts that are text, bytes, a link or data, and gives them back as they came [DM-PART-001]', async () => {
    const parts = [
      { text: 'ä€😀' },
      { raw: 'AAH+/w==', mediaType: 'application/octet-stream', filename: 'b.bin' },
      { url: 'https://example.com/a.pdf', mediaType: 'application/pdf' },
      { data: { list: [1, null, 'x'], flag: false } },
      { text: 'with metadata', metadata: { a: { b: [1] } } },
    ];
    const task = await send('', { message: { parts } });
    expect(task.artifacts?.[0]?.parts).toEqual(parts);
    expect((await get(task.id)).history?.[0]?.parts).toEqual(parts);
  });

  it('has artifacts with an id and parts [DM-ART-001]', async () => {
    const { artifacts } = await send('@file');
    expect(artifacts).toMatchObject([{ artifactId: expect.stringMatching(/./), parts: [{ filename: 'hello.txt' }] }]);
  });

  it('has chunks put together [DM-ART-002]', async () => {
    const task = await send('@stream 3 0');
    expect(task.artifacts).toHaveLength(1);
    expect(answerOf(task).match(/chunk \d of 3/g)).toEqual(['chunk 1 of 3', 'chunk 2 of 3', 'chunk 3 of 3']);
  });

  it('has times in UTC, to the millisecond [DM-SERIAL-003 DM-SERIAL-006]', async () => {
    expect((await send('hello')).status.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  it('takes no part that is nothing [DM-PART-001 DM-SERIAL-004]', async () => {
    const message = { parts: [{ text: 'x' }, { mediaType: 'text/plain' }] };
    expectRefusal(binding, await refused('SendMessage', sending('', { message })), 'INVALID_PARAMS');
  });
});

const namesIn = (value: unknown, found = new Set<string>()): Set<string> => {
  if (Array.isArray(value)) for (const item of value) namesIn(item, found);
  else if (typeof value === 'object' && value !== null) {
    for (const [name, member] of Object.entries(value)) namesIn(member, found.add(name));
  }
  return found;
};

describe.each([
  ['JSON-RPC', '/a2a', (params: object) => ({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params })],
  ['REST', '/a2a/message:send', (params: object) => params],
])('the JSON of %s', (_name, path, wrap) => {
  const post = async (params: object): Promise<{ text: string; task: WireTask; error?: { code: number } }> => {
    const response = await fetch(`${world.service.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json', 'a2a-version': '1.0' },
      body: JSON.stringify(wrap(params)),
    });
    const text = await response.text();
    const json = JSON.parse(text) as { result?: { task: WireTask }; task: WireTask; error?: { code: number } };
    return { text, task: json.result?.task ?? json.task, ...(json.error && { error: json.error }) };
  };

  it('has names in camel case and enumerations by name [DM-SERIAL-001 DM-SERIAL-002]', async () => {
    const { text, task } = await post(sending('@file'));
    expect([...namesIn(JSON.parse(text))].filter((name) => !/^[a-z][a-zA-Z]*$/.test(name))).toEqual([]);
    expect(task.status.state).toBe('TASK_STATE_COMPLETED');
    expect(task.history?.[0]?.role).toBe('ROLE_USER');
  });

  it('understands names in snake case [DM-SERIAL-007]', async () => {
    const contextId = randomUUID();
    const message = {
      message_id: 'm',
      role: 'ROLE_USER',
      parts: [{ text: 'x', media_type: 'text/plain' }],
      context_id: contextId,
    };
    const { task } = await post({ message, configuration: { history_length: 0 } });
    expect(task).toMatchObject({ contextId, artifacts: [{ parts: [{ mediaType: 'text/plain' }] }] });
    expect(task).not.toHaveProperty('history');
  });

  it('may have fields that nobody knows [DM-SERIAL-005]', async () => {
    const params = sending('hello', { message: { unknown: { deep: 1 } }, configuration: { unknown: [] } });
    const { task } = await post({ ...params, unknown: true });
    expect(task.status.state).toBe('TASK_STATE_COMPLETED');
    expect([...namesIn(task)]).not.toContain('unknown');
  });

  it('has no part of two kinds [DM-PART-001]', async () => {
    const message = { parts: [{ text: 'x', url: 'https://example.com/' }] };
    expect((await post(sending('', { message }))).error).toBeDefined();
  });
});
