import { LegacyA2AService } from '@a2a-js/sdk/compat/v0_3/server/grpc';
import { describe, expect, it } from 'vitest';

import { jsonOf, messageOf } from './message-shape.ts';
import { CARD, RESPONSE, SEND_REQUEST } from './v03-messages.ts';

type Members = Record<string, unknown>;

const message = {
  messageId: 'm',
  contextId: 'c',
  taskId: 't',
  role: 'ROLE_USER',
  content: [
    { text: 'hello' },
    { text: '' },
    { file: { fileWithBytes: 'AAH+/w==', mimeType: 'application/octet-stream' } },
    { file: { fileWithUri: 'https://example.com', mimeType: 'text/html' } },
    { data: { data: { $case: 'text', list: [1, null, { value: 'x' }] } } },
  ],
  metadata: { $case: 'kept', value: 1 },
  extensions: ['urn:x'],
};

describe('messages of a2a.v1', () => {
  it('are the same JSON after they went over the wire', () => {
    const { requestSerialize, requestDeserialize } = LegacyA2AService.sendMessage;
    const request = {
      message: undefined,
      request: message,
      configuration: { acceptedOutputModes: ['text/plain'], historyLength: 3, blocking: true },
      metadata: { a: 1 },
    };
    const sent = messageOf(SEND_REQUEST, request) as unknown as Parameters<typeof requestSerialize>[0];
    const json = jsonOf(SEND_REQUEST, requestDeserialize(requestSerialize(sent)) as unknown as Members);
    const { message: _none, ...expected } = request;
    expect(json).toEqual(expected);
  });

  it('have every member that their codec wants, however little the JSON says', () => {
    const { responseSerialize, responseDeserialize } = LegacyA2AService.sendStreamingMessage;
    const event = {
      statusUpdate: { taskId: 't', contextId: 'c', status: { state: 'TASK_STATE_CANCELLED' }, final: true },
    };
    const written = messageOf(RESPONSE, event) as unknown as Parameters<typeof responseSerialize>[0];
    const read = responseDeserialize(responseSerialize(written));
    expect(jsonOf(RESPONSE, read as unknown as Members)).toMatchObject(event);
    const card = messageOf(CARD, { name: 'x' }) as unknown as Parameters<
      typeof LegacyA2AService.getAgentCard.responseSerialize
    >[0];
    expect(() => LegacyA2AService.getAgentCard.responseSerialize(card)).not.toThrow();
  });
});
