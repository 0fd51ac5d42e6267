import { describe, expect, it } from 'vitest';

import {
  protoCardOf,
  protoEventOf,
  protoPageOf,
  protoPushConfigsOf,
  protoResultOf,
  pushNameOfProto,
  pushSettingOfProto,
  pushTaskOfProto,
  restCardOf,
  sendParamsOfProto,
  stateOfProto,
  taskParamsOfProto,
} from './proto-json.ts';

describe('the params of a 0.3 method', () => {
  it('come from ProtoJSON in either spelling', () => {
    const expected = {
      message: {
        kind: 'message',
        messageId: 'm',
        contextId: 'c',
        taskId: 't',
        role: 'user',
        parts: [
          { kind: 'text', text: '' },
          { kind: 'file', file: { uri: 'https://x.example', mimeType: 'a/b' } },
          { kind: 'file', file: { bytes: 'aGk=', name: 'n' }, metadata: { k: 1 } },
          { kind: 'data', data: { data: { x: 1 } } },
        ],
        metadata: { a: 1 },
        extensions: ['urn:e'],
      },
      metadata: { b: 2 },
      configuration: {
        blocking: true,
        historyLength: 3,
        acceptedOutputModes: ['text/plain'],
        pushNotificationConfig: { id: 'p', url: 'u', authentication: { schemes: ['Bearer'] } },
      },
    };
    const camel = {
      message: {
        messageId: 'm',
        contextId: 'c',
        taskId: 't',
        role: 'ROLE_USER',
        content: [
          { text: '' },
          { file: { fileWithUri: 'https://x.example', mimeType: 'a/b' } },
          { file: { fileWithBytes: 'aGk=', name: 'n' }, metadata: { k: 1 } },
          { data: { data: { data: { x: 1 } } } },
        ],
        metadata: { a: 1 },
        extensions: ['urn:e'],
      },
      metadata: { b: 2 },
      configuration: {
        blocking: true,
        historyLength: 3,
        acceptedOutputModes: ['text/plain'],
        pushNotification: { id: 'p', url: 'u', token: '', authentication: { schemes: ['Bearer'], credentials: '' } },
      },
    };
    expect(sendParamsOfProto(camel)).toEqual(expected);
    expect(sendParamsOfProto(snakeOf(camel))).toEqual(expected);
    const { message, ...rest } = camel;
    expect(sendParamsOfProto({ request: message, ...rest })).toEqual(expected);
  });

  it('have the defaults of protobuf where ProtoJSON is silent, and none where JSON of 0.3 is', () => {
    const message = { messageId: 'm', role: 'ROLE_USER', content: [{ text: 'x' }] };
    expect(sendParamsOfProto({ message, configuration: { historyLength: 0 } })['configuration']).toEqual({
      blocking: false,
    });
    expect(sendParamsOfProto({ message })).not.toHaveProperty('configuration');
    const plain = { messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'x' }] };
    const configuration = { historyLength: 0 };
    expect(sendParamsOfProto({ message: plain, configuration })['configuration']).toEqual(configuration);
  });

  it('keep JSON of 0.3, and nonsense, as they are', () => {
    const message = {
      kind: 'message',
      messageId: 'm',
      role: 'user',
      parts: [{ kind: 'data', data: { data: 1 } }, { kind: 'text', text: 'x' }, null, 5, {}, { data: 'x' }],
      referenceTaskIds: ['t'],
    };
    expect(sendParamsOfProto({ message })).toEqual({ message });
    expect(sendParamsOfProto({ message: 'x' })).toEqual({ message: 'x' });
    expect(() => sendParamsOfProto([])).toThrow(/body/);
  });

  it('name tasks and webhooks by their resources', () => {
    expect(taskParamsOfProto({ name: 'tasks/a/b:c', historyLength: 0 })).toEqual({ id: 'a/b:c' });
    expect(taskParamsOfProto({ name: 'tasks/t', history_length: 2 })).toEqual({ id: 't', historyLength: 2 });
    expect(pushTaskOfProto({ parent: 'tasks/t' })).toEqual({ id: 't' });
    expect(pushTaskOfProto({ parent: 'tasks/t/pushNotificationConfigs' })).toEqual({ id: 't' });
    expect(pushNameOfProto({ name: 'tasks/t/pushNotificationConfigs/c/d' })).toEqual({
      id: 't',
      pushNotificationConfigId: 'c/d',
    });
    for (const name of ['', 'tasks/', 'task/x', 't', undefined, 5]) {
      expect(() => taskParamsOfProto({ name }), String(name)).toThrow(/name must be like "tasks/);
      expect(() => pushNameOfProto({ name }), String(name)).toThrow(/name must be like "tasks/);
    }
    expect(() => pushNameOfProto({ name: 'tasks/t' })).toThrow(/pushNotificationConfigs/);
  });

  it('take a webhook as the whole request, or as its config alone', () => {
    const pushNotificationConfig = { id: 'c', url: 'https://x.example' };
    const setting = { taskId: 't', pushNotificationConfig };
    const name = 'tasks/t/pushNotificationConfigs/c';
    expect(pushSettingOfProto({ parent: 'tasks/t', configId: 'c', config: { name, pushNotificationConfig } })).toEqual(
      setting,
    );
    const { id: _id, ...unnamed } = pushNotificationConfig;
    const config = { push_notification_config: unnamed };
    expect(pushSettingOfProto({ parent: 'tasks/t', config_id: 'c', config })).toEqual(setting);
    expect(pushSettingOfProto({ name, pushNotificationConfig })).toEqual(setting);
    expect(pushSettingOfProto({ name: 'tasks/t/pushNotificationConfigs/', pushNotificationConfig })).toEqual(setting);
    expect(pushSettingOfProto({ pushNotificationConfig }, 't')).toEqual(setting);
    expect(() => pushSettingOfProto({ name, pushNotificationConfig }, 'other')).toThrow(/another task/);
    expect(() => pushSettingOfProto({ parent: 'tasks/x', config: { name, pushNotificationConfig } })).toThrow(
      /another task/,
    );
    expect(() => pushSettingOfProto({ pushNotificationConfig })).toThrow(/parent/);
  });

  it('spell states as 0.3 does', () => {
    expect(
      ['TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_CANCELLED', 'TASK_STATE_UNSPECIFIED', 'x', 5].map(stateOfProto),
    ).toEqual(['input-required', 'canceled', '', 'x', 5]);
  });
});

describe('the answer of a 0.3 method', () => {
  const message = {
    kind: 'message',
    messageId: 'm',
    role: 'agent',
    parts: [{ kind: 'text', text: '' }],
    contextId: 'c',
  };
  const proto = { messageId: 'm', contextId: 'c', role: 'ROLE_AGENT', content: [{ text: '' }] };
  const task = {
    kind: 'task',
    id: 't',
    contextId: 'c',
    status: { state: 'canceled', message, timestamp: '2026-01-01T00:00:00.000Z' },
    artifacts: [
      { artifactId: 'a', name: 'n', parts: [{ kind: 'file', file: { uri: 'u', mimeType: 'a/b', name: 'f' } }] },
    ],
    history: [message],
    metadata: {},
  };
  const protoTask = {
    id: 't',
    contextId: 'c',
    status: { state: 'TASK_STATE_CANCELLED', message: proto, timestamp: '2026-01-01T00:00:00.000Z' },
    artifacts: [{ artifactId: 'a', name: 'n', parts: [{ file: { fileWithUri: 'u', mimeType: 'a/b', name: 'f' } }] }],
    history: [proto],
    metadata: {},
  };

  it('is ProtoJSON, with no member that the proto does not have', () => {
    expect(protoResultOf(task)).toEqual({ task: protoTask });
    expect(protoResultOf({ ...message, referenceTaskIds: ['x'] })).toEqual({ message: proto });
    expect(protoPageOf({ tasks: [task], totalSize: 1 })).toEqual({ tasks: [protoTask], totalSize: 1 });
    expect(protoPushConfigsOf([])).toEqual({});
  });

  it('is an event of a stream', () => {
    const names = { taskId: 't', contextId: 'c' };
    expect(protoEventOf(task)).toEqual({ task: protoTask });
    expect(protoEventOf({ kind: 'status-update', ...names, status: task.status, final: true })).toEqual({
      statusUpdate: { ...names, status: protoTask.status, final: true },
    });
    const parts = [{ kind: 'data', data: { x: 1 }, metadata: { y: 2 } }];
    expect(
      protoEventOf({
        kind: 'artifact-update',
        ...names,
        artifact: { artifactId: 'a', parts },
        append: false,
        lastChunk: true,
      }),
    ).toEqual({
      artifactUpdate: {
        ...names,
        artifact: { artifactId: 'a', parts: [{ data: { data: { x: 1 } }, metadata: { y: 2 } }] },
        lastChunk: true,
      },
    });
  });

  it('is a card, whose security REST tells in both ways', () => {
    const card = {
      name: 'n',
      capabilities: { streaming: true, pushNotifications: false, stateTransitionHistory: false },
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' }, key: { type: 'apiKey', in: 'header', name: 'k' } },
      security: [{ bearer: [] }],
      skills: [{ id: 's', security: [{ key: ['a'] }] }],
    };
    const pure = {
      name: 'n',
      capabilities: { streaming: true, pushNotifications: false },
      securitySchemes: {
        bearer: { httpAuthSecurityScheme: { scheme: 'bearer' } },
        key: { apiKeySecurityScheme: { location: 'header', name: 'k' } },
      },
      security: [{ schemes: { bearer: { list: [] } } }],
      skills: [{ id: 's', security: [{ schemes: { key: { list: ['a'] } } }] }],
    };
    expect(protoCardOf(card)).toEqual(pure);
    expect(restCardOf(card)).toMatchObject({
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', httpAuthSecurityScheme: { scheme: 'bearer' } } },
      security: [{ bearer: [] }],
    });
  });
});

/** Members by their proto names; what callers wrote themselves has none of these names. */
const snakeOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(snakeOf);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      snakeOf(member),
    ]),
  );
};
