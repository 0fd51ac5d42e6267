import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { type Message, type Part, SealaneError } from '#domain';

import { decodeMessage } from './message-decoder.ts';
import { decodeGetParams, decodeListParams, decodeSendParams, decodeTaskParams } from './request-decoder.ts';

const good = { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'hi' }] };
const withMessage = (more: object) => ({ message: { ...good, ...more } });
const withPart = (part: unknown) => withMessage({ parts: [part] });

/** What `decode` says is wrong; fails when nothing is. */
const complaintOf = (decode: () => unknown): { code: string; field: string | undefined; message: string } => {
  try {
    decode();
  } catch (error) {
    expect(error).toBeInstanceOf(SealaneError);
    const { code, facts, message } = error as SealaneError;
    return { code, field: facts['field'], message };
  }
  throw new Error('nothing was refused');
};

const id = fc.string({ minLength: 1, maxLength: 128, unit: 'grapheme-ascii' }).filter((text) => text !== '__proto__');
const word = fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => !text.includes('\0') && text.length <= 128);
const metadata = fc
  .dictionary(
    word.filter((key) => key !== '__proto__'),
    fc.oneof(word, fc.integer(), fc.boolean(), fc.constant(null)),
    { minKeys: 1 },
  )
  .map((entries) => ({ ...entries }));
const extras = fc.record({ mediaType: word, filename: word, metadata }, { requiredKeys: [] });
const content = fc.oneof(
  fc.record({ text: fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\0')) }),
  fc.uint8Array().map((bytes) => ({ raw: Buffer.from(bytes).toString('base64') })),
  fc.webUrl().map((url) => ({ url })),
  fc.record({ data: fc.oneof(word, fc.integer(), fc.constant(null), metadata) }),
);
const part: fc.Arbitrary<Part> = fc.tuple(content, extras).map(([what, more]) => ({ ...what, ...more }));
const message: fc.Arbitrary<Message> = fc.record(
  {
    messageId: id,
    role: fc.constant('ROLE_USER' as const),
    parts: fc.array(part, { minLength: 1, maxLength: 5 }),
    contextId: id,
    taskId: id,
    metadata,
    extensions: fc.array(word, { minLength: 1, maxLength: 3 }),
    referenceTaskIds: fc.array(id, { minLength: 1, maxLength: 3 }),
  },
  { requiredKeys: ['messageId', 'role', 'parts'] },
);

const SNAKE: Readonly<Record<string, string>> = {
  messageId: 'message_id',
  contextId: 'context_id',
  taskId: 'task_id',
  referenceTaskIds: 'reference_task_ids',
  mediaType: 'media_type',
};
const rename = (object: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [SNAKE[name] ?? name, value]));
const inProtoNames = (message: Message): object => ({ ...rename(message), parts: message.parts.map(rename) });

describe('decoding a message', () => {
  it('gives back every well-formed message as it was', () => {
    fc.assert(
      fc.property(message, (value) => {
        expect(decodeMessage(JSON.parse(JSON.stringify(value)), 'message')).toEqual(value);
      }),
    );
  });

  it('takes proto names for the same message', () => {
    fc.assert(
      fc.property(message, (value) => {
        expect(decodeMessage(inProtoNames(value), 'message')).toEqual(value);
      }),
    );
  });

  it('drops members it does not know, and empty ones', () => {
    const given = {
      ...good,
      kind: 'message',
      contextId: '',
      taskId: null,
      metadata: {},
      extensions: [],
      parts: [{ kind: 'text', text: 'hi', filename: '' }],
    };
    expect(decodeMessage(given, 'message')).toEqual(good);
  });

  it('mends base64 of the URL alphabet and without padding, which protobuf allows', () => {
    expect(decodeMessage({ ...good, parts: [{ raw: '-_8' }] }, 'message').parts).toEqual([{ raw: '+/8=' }]);
  });

  it('throws nothing but known errors on any value', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.anything(),
          fc.record({ message: fc.anything(), configuration: fc.anything(), metadata: fc.anything() }),
        ),
        (value) => {
          for (const decode of [decodeSendParams, decodeGetParams, decodeListParams, decodeTaskParams]) {
            try {
              decode(value);
            } catch (error) {
              expect(error).toBeInstanceOf(SealaneError);
            }
          }
        },
      ),
    );
  });
});

describe('decoding bad input', () => {
  let tooDeep: unknown = 1;
  for (let level = 0; level < 10_000; level += 1) tooDeep = [tooDeep];
  const cases: readonly (readonly [name: string, params: unknown, field: string])[] = [
    ['no params', undefined, 'params'],
    ['params that are a list', [], 'params'],
    ['no message', {}, 'message'],
    ['a message that is a text', { message: 'hi' }, 'message'],
    ['no messageId', withMessage({ messageId: undefined }), 'message.messageId'],
    ['a messageId that is a number', withMessage({ messageId: 5 }), 'message.messageId'],
    ['a messageId that is too long', withMessage({ messageId: 'x'.repeat(129) }), 'message.messageId'],
    ['both spellings of one name', withMessage({ message_id: 'm2' }), 'messageId'],
    ['no role', withMessage({ role: undefined }), 'message.role'],
    ['a role by number', withMessage({ role: 1 }), 'message.role'],
    ["an agent's role", withMessage({ role: 'ROLE_AGENT' }), 'message.role'],
    ['an older role', withMessage({ role: 'user' }), 'message.role'],
    ['no parts', withMessage({ parts: [] }), 'message.parts'],
    ['parts that are no list', withMessage({ parts: 'invalid' }), 'message.parts'],
    ['more than 100 parts', withMessage({ parts: Array.from({ length: 101 }, () => ({ text: '' })) }), 'message.parts'],
    ['a part that is a text', withPart('hi'), 'message.parts[0]'],
    ['an empty part', withPart({}), 'message.parts[0]'],
    ['a part that is two', withPart({ text: 'a', url: 'https://a.example' }), 'message.parts[0]'],
    ['text and data in one part', withPart({ text: 'a', data: {} }), 'message.parts[0]'],
    ['text that is a number', withPart({ text: 1 }), 'message.parts[0].text'],
    ['raw that is not base64', withPart({ raw: 'a*b=' }), 'message.parts[0].raw'],
    ['base64 of an impossible length', withPart({ raw: 'abcde' }), 'message.parts[0].raw'],
    ['a url that is none', withPart({ url: 'not a url' }), 'message.parts[0].url'],
    ['NUL in a text', withPart({ text: 'a\0b' }), 'message.parts[0].text'],
    ['NUL in an id', withMessage({ contextId: 'a\0' }), 'message.contextId'],
    ['NUL in metadata', withMessage({ metadata: { a: { b: ['\0'] } } }), 'message.metadata.a.b[0]'],
    ['NUL in a key', withMessage({ metadata: { 'a\0': 1 } }), 'a key of message.metadata'],
    ['half a surrogate pair in a text', withPart({ text: '\ud800' }), 'message.parts[0].text'],
    ['half a surrogate pair in data', withPart({ data: { x: '\udfff' } }), 'message.parts[0].data.x'],
    ['a line break in a contextId', withMessage({ contextId: 'a\nb' }), 'message.contextId'],
    ['metadata that is a list', withMessage({ metadata: [] }), 'message.metadata'],
    [
      'a __proto__ key in metadata',
      JSON.parse(
        '{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":""}],"metadata":{"__proto__":{"x":1}}}}',
      ),
      'message.metadata',
    ],
    [
      'a __proto__ key in data',
      withPart({ data: JSON.parse('[{"__proto__":1}]') as unknown }),
      'message.parts[0].data[0]',
    ],
    ['a number that no double holds', withPart({ data: JSON.parse('[1e999]') as unknown }), 'message.parts[0].data[0]'],
    ['data that is ten thousand levels deep', withPart({ data: tooDeep }), 'message.parts[0].data'],
    ['configuration that is a text', { message: good, configuration: 'x' }, 'configuration'],
    [
      'a negative historyLength',
      { message: good, configuration: { historyLength: -1 } },
      'configuration.historyLength',
    ],
    [
      'a historyLength that is not whole',
      { message: good, configuration: { historyLength: 1.5 } },
      'configuration.historyLength',
    ],
    ['a huge historyLength', { message: good, configuration: { historyLength: 1e300 } }, 'configuration.historyLength'],
    [
      'returnImmediately as a text',
      { message: good, configuration: { returnImmediately: 'yes' } },
      'configuration.returnImmediately',
    ],
    [
      'output modes that are no list',
      { message: good, configuration: { acceptedOutputModes: 'text/plain' } },
      'configuration.acceptedOutputModes',
    ],
    ['an executor that is no name', { message: good, metadata: { executor: 5 } }, 'metadata.executor'],
  ];
  it.each(cases)('refuses %s as invalid params, and names the field', (_name, params, field) => {
    const complaint = complaintOf(() => decodeSendParams(params));
    expect(complaint.code).toBe('invalid-params');
    expect(complaint.field?.startsWith(field)).toBe(true);
  });

  it('pollutes no prototype', () => {
    const params = JSON.parse(
      '{"__proto__":{"polluted":1},"message":{"__proto__":{"polluted":1},"messageId":"m","role":"ROLE_USER","parts":[{"text":"","__proto__":{"polluted":1}}]}}',
    ) as unknown;
    const { message: decoded } = decodeSendParams(params);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    expect((decoded as unknown as Record<string, unknown>)['polluted']).toBeUndefined();
    expect((decoded.parts[0] as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('keeps its complaint short, however long the key at fault', () => {
    const { message: text } = complaintOf(() =>
      decodeSendParams(withMessage({ metadata: { ['x'.repeat(1_000_000)]: '\0' } })),
    );
    expect(text.length).toBeLessThan(400);
  });

  it.each(['', 'ftp://a.example', 'a.example', 'https://me:secret@a.example', 7])('refuses the webhook %j', (url) => {
    const params = { message: good, configuration: { taskPushNotificationConfig: { url } } };
    expect(complaintOf(() => decodeSendParams(params)).field).toBe('configuration.taskPushNotificationConfig.url');
  });

  it('refuses credentials that would begin another header', () => {
    const authentication = { scheme: 'Bearer', credentials: 'x\r\nHost: evil' };
    const params = {
      message: good,
      configuration: { taskPushNotificationConfig: { url: 'https://a.example', authentication } },
    };
    expect(complaintOf(() => decodeSendParams(params)).field).toMatch(/credentials$/);
  });
});

describe('decoding the other requests', () => {
  it('reads ListTasks with its defaults', () => {
    expect(decodeListParams(undefined).request).toEqual({ limit: 50, withArtifacts: false });
    expect(decodeListParams({ pageToken: '', contextId: '', status: 'TASK_STATE_UNSPECIFIED' }).request).toEqual({
      limit: 50,
      withArtifacts: false,
    });
  });

  it('reads every filter of ListTasks, in both spellings', () => {
    const expected = {
      tenant: undefined,
      historyLength: 2,
      request: {
        limit: 7,
        withArtifacts: true,
        contextId: 'c',
        states: ['input-required'],
        since: '2026-01-01T10:00:00.001Z',
        after: 't',
      },
    };
    const filters = { status: 'TASK_STATE_INPUT_REQUIRED' };
    expect(
      decodeListParams({
        ...filters,
        pageSize: 7,
        pageToken: 't',
        contextId: 'c',
        includeArtifacts: true,
        historyLength: 2,
        statusTimestampAfter: '2026-01-01T12:00:00.0001+02:00',
      }),
    ).toEqual(expected);
    expect(
      decodeListParams({
        ...filters,
        page_size: '7',
        page_token: 't',
        context_id: 'c',
        include_artifacts: true,
        history_length: 2,
        status_timestamp_after: '2026-01-01T10:00:00.001Z',
      }),
    ).toEqual(expected);
  });

  it.each([
    [{ pageSize: 0 }, 'pageSize'],
    [{ pageSize: 101 }, 'pageSize'],
    [{ pageSize: -1 }, 'pageSize'],
    [{ status: 'working' }, 'status'],
    [{ status: 2 }, 'status'],
    [{ statusTimestampAfter: 'yesterday' }, 'statusTimestampAfter'],
    [{ statusTimestampAfter: '2026-13-01T00:00:00Z' }, 'statusTimestampAfter'],
    [{ pageToken: 5 }, 'pageToken'],
    [{ includeArtifacts: 'true' }, 'includeArtifacts'],
    [{ historyLength: -1 }, 'historyLength'],
  ])('refuses %j', (params, field) => {
    expect(complaintOf(() => decodeListParams(params))).toMatchObject({ code: 'invalid-params', field });
  });

  it('wants an id where a task is meant', () => {
    expect(complaintOf(() => decodeGetParams({})).field).toBe('id');
    expect(complaintOf(() => decodeTaskParams({ id: '' })).field).toBe('id');
    expect(decodeGetParams({ id: 't', history_length: '3' })).toEqual({ tenant: undefined, id: 't', historyLength: 3 });
  });
});
