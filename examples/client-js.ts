/**
 * The official JavaScript client (`@a2a-js/sdk/client`) talks to Sealane: send, stream, get, list, cancel, and take up a
 * stream again. Give it the address of a service and a key; without them it starts a service of its own.
 *
 *     npx node --conditions=sealane:source examples/client-js.ts
 *     npx node --conditions=sealane:source examples/client-js.ts http://127.0.0.1:7420 "$(npx sealane key)"
 */
import { randomUUID } from 'node:crypto';

import {
  CancelTaskRequest,
  GetTaskRequest,
  ListTasksRequest,
  type Part,
  SendMessageRequest,
  type StreamResponse,
  SubscribeToTaskRequest,
  TaskState,
} from '@a2a-js/sdk';
import {
  ClientFactory,
  ClientFactoryOptions,
  createAuthenticatingFetchWithRetry,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
} from '@a2a-js/sdk/client';
import { createEchoAgent, createSealane } from 'sealane';

const startOwn = async () => {
  const sealane = await createSealane({
    store: 'memory',
    agents: { echo: { connector: createEchoAgent(), public: true } },
    adminKey: 'demo-key',
    settings: { drainMs: 0 },
  });
  const url = await sealane.app.listen({ host: '127.0.0.1', port: 0 });
  return { url, key: 'demo-key', close: () => sealane.close() };
};
const [givenUrl, givenKey = ''] = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const service =
  givenUrl === undefined ? await startOwn() : { url: givenUrl, key: givenKey, close: async () => undefined };

const fetchImpl = createAuthenticatingFetchWithRetry(fetch, {
  headers: async () => ({ Authorization: `Bearer ${service.key}` }),
  shouldRetryWithHeaders: async () => undefined,
});
const client = await new ClientFactory(
  ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports: [new JsonRpcTransportFactory({ fetchImpl })],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  }),
).createFromUrl(service.url);

const message = (text: string, configuration?: object): SendMessageRequest =>
  SendMessageRequest.fromJSON({
    message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }] },
    configuration,
  });
const text = (parts: readonly Part[]): string =>
  parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('');
const stateOf = (state: TaskState | undefined): string => TaskState[state ?? 0] ?? '';

const answer = await client.sendMessage(message('hello'));
if (!('status' in answer)) throw new Error('A task was expected.');
console.log(`sent: ${stateOf(answer.status?.state)}, ${text(answer.artifacts[0]?.parts ?? [])}`);

let chunks = 0;
let last: StreamResponse | undefined;
for await (const event of client.sendMessageStream(message('@stream 20 2'))) {
  if (event.payload?.$case === 'artifactUpdate') chunks += 1;
  last = event;
}
console.log(
  `streamed: ${chunks} chunks, then ${last?.payload?.$case === 'statusUpdate' ? stateOf(last.payload.value.status?.state) : '?'}`,
);

const found = await client.getTask(GetTaskRequest.fromJSON({ id: answer.id }));
console.log(`found: ${stateOf(found.status?.state)}`);
const page = await client.listTasks(ListTasksRequest.fromJSON({ contextId: answer.contextId }));
console.log(`listed: ${page.tasks.length} of ${page.totalSize}`);

// A long task: somebody follows it, somebody else cancels it, and both see the same end.
const long = await client.sendMessage(message('@sleep 600000', { returnImmediately: true }));
if (!('status' in long)) throw new Error('A task was expected.');
const states: string[] = [];
for await (const { payload } of client.resubscribeTask(SubscribeToTaskRequest.fromJSON({ id: long.id }))) {
  if (payload?.$case === 'task') {
    states.push(stateOf(payload.value.status?.state));
    const canceled = await client.cancelTask(CancelTaskRequest.fromJSON({ id: long.id }));
    console.log(`canceled: ${stateOf(canceled.status?.state)}`);
  } else if (payload?.$case === 'statusUpdate') states.push(stateOf(payload.value.status?.state));
}
console.log(`followed: ${states.join(' → ')}`);
await service.close();
