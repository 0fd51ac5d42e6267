import { ListTasksResponse, StreamResponse, Task } from '@a2a-js/sdk';
import { describe, expect, it } from 'vitest';

import { keepNullData } from './null-data.ts';

const task = {
  id: 't',
  contextId: 'c',
  status: { state: 'TASK_STATE_COMPLETED', message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ data: null }] } },
  artifacts: [{ artifactId: 'a', parts: [{ text: 'x' }, { data: null, mediaType: 'application/json' }] }],
  history: [{ messageId: 'h', role: 'ROLE_USER', parts: [{ data: { data: null } }], metadata: { data: null } }],
};

describe('null as the data of a part', () => {
  it('survives the way into a message, wherever the part is', () => {
    const whole = keepNullData(JSON.stringify(task), Task);
    expect(Task.toJSON(whole)).toEqual(task);
    const [inList] = keepNullData(JSON.stringify({ tasks: [task] }), ListTasksResponse).tasks;
    expect(Task.toJSON(inList!)).toEqual(task);
    const artifactUpdate = { taskId: 't', contextId: 'c', artifact: { artifactId: 'a', parts: [{ data: null }] } };
    const event = keepNullData(JSON.stringify({ artifactUpdate }), StreamResponse);
    expect(StreamResponse.toJSON(event)).toEqual({ artifactUpdate });
  });
});
