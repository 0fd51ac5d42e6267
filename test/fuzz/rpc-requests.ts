import type { Draw } from './draw.ts';
import { extraHeaders, usualHeaders } from './fuzz-headers.ts';
import { type HttpRequest, namedBy } from './fuzz-request.ts';
import { type JsonMember, nodeOf, writeJson } from './json-node.ts';
import { strangeNode } from './junk.ts';
import { breakText } from './mutate-bytes.ts';
import { mutateJson } from './mutate-json.ts';
import {
  configName,
  eventsQuery,
  givenTask,
  listQuery,
  send01,
  send03,
  send10,
  taskName,
  taskQuery,
  webhook10,
  webhookOld,
} from './shapes.ts';

interface RpcMethod {
  readonly name: string;
  readonly params: (draw: Draw) => object | undefined;
  readonly weight: number;
}

const method = (name: string, params: RpcMethod['params'], weight = 2): RpcMethod => ({ name, params, weight });

/** What is deleted is not there for the others. */
export const RARELY = 0.05;

const ofTask = (draw: Draw): object => ({ taskId: draw.taskId() });
const oldConfigName = (draw: Draw, probability?: number): object => {
  const [id, pushNotificationConfigId] = draw.pair(probability);
  return { id, pushNotificationConfigId };
};
/** Made for a pair now and then, because others delete it. */
const newConfig = (draw: Draw, webhook: object): object =>
  draw.random.chance(0.6) ? { ...ofTask(draw), ...webhook } : { ...webhook, ...configName(draw) };

const METHODS_03: readonly RpcMethod[] = [
  method('message/send', send03, 8),
  method('message/stream', send03, 5),
  method('tasks/get', taskQuery, 3),
  method('tasks/cancel', taskName, 3),
  method('tasks/resubscribe', taskName, 3),
  method('tasks/pushNotificationConfig/set', (draw) => ({ ...ofTask(draw), pushNotificationConfig: webhookOld(draw) })),
  method('tasks/pushNotificationConfig/get', (draw) =>
    draw.random.chance(0.7) ? oldConfigName(draw) : { id: draw.taskId() },
  ),
  method('tasks/pushNotificationConfig/list', (draw) => ({ id: draw.taskId() })),
  method('tasks/pushNotificationConfig/delete', (draw) => oldConfigName(draw, RARELY)),
  method('agent/getAuthenticatedExtendedCard', () => undefined, 1),
];

/** All that is spoken over JSON-RPC, by version. */
export const RPC_METHODS: Readonly<Record<string, readonly RpcMethod[]>> = {
  '1.0': [
    method('SendMessage', send10, 10),
    method('SendStreamingMessage', send10, 6),
    method('GetTask', taskQuery, 4),
    method('ListTasks', listQuery, 4),
    method('CancelTask', taskName, 4),
    method('SubscribeToTask', taskName, 4),
    method('CreateTaskPushNotificationConfig', (draw) => newConfig(draw, webhook10(draw)), 3),
    method('GetTaskPushNotificationConfig', configName),
    method('ListTaskPushNotificationConfigs', ofTask),
    method('DeleteTaskPushNotificationConfig', (draw) => configName(draw, RARELY)),
    method('GetExtendedAgentCard', ({ random }) => (random.chance(0.5) ? {} : undefined), 1),
  ],
  '0.3': METHODS_03,
  '0.2': METHODS_03,
  '0.1': [
    method('tasks/send', send01, 8),
    method('tasks/sendSubscribe', send01, 5),
    method('tasks/get', givenTask),
    method('tasks/cancel', givenTask),
    method('tasks/resubscribe', givenTask),
    method('tasks/pushNotification/set', (draw) => ({ id: draw.givenId(), pushNotificationConfig: webhookOld(draw) })),
    method('tasks/pushNotification/get', givenTask),
  ],
  ours: [method('tasks/events', eventsQuery, 3), method('tasks/delete', taskName, 1)],
};

const DIALECTS: readonly (readonly [number, string])[] = [
  [8, '1.0'],
  [6, '0.3'],
  [2, '0.2'],
  [4, '0.1'],
  [2, 'ours'],
];

const ENDPOINTS: readonly (readonly [number, string])[] = [
  [20, '/a2a'],
  [8, '/'],
  [6, '/agents/echo'],
];

const PATHS: readonly (readonly [number, string])[] = [
  ...ENDPOINTS,
  [1, '/agents/slow'],
  [1, '/agents/nobody'],
  [1, '/a2a/'],
  [1, '/a2a?A2A-Version=1.0'],
  [1, '/a2a?A2A-Version=0.3&a2a-version=%ff'],
  [1, '/agents/%ff'],
  [1, '/agents/..%2f..%2fadmin'],
];

export const rpcRequest = (draw: Draw, key: string): HttpRequest => {
  const { random } = draw;
  const dialect = random.weigh(DIALECTS);
  const { name, params } = random.weigh(RPC_METHODS[dialect]!.map((chosen) => [chosen.weight, chosen] as const));
  const isNaming = name.startsWith('tasks/send');
  if (isNaming) draw.namesThings();
  const members: JsonMember[] = [
    { name: 'jsonrpc', value: nodeOf('2.0') },
    { name: 'id', value: nodeOf(random.pick<unknown>([1, 0, -5, 'call', '', '🦭', null, draw.freshId()])) },
    { name: 'method', value: nodeOf(name) },
    { name: 'params', value: nodeOf(params(draw)) },
  ];
  const tree = { kind: 'members', members } as const;
  const fate = random.weigh([
    [28, 'whole'],
    [56, 'mutated'],
    [4, 'envelope'],
    [12, 'broken'],
  ] as const);
  // Mostly what is inside is changed: the envelope's few rules would hide the many behind them.
  if (fate === 'mutated') {
    const inside = members[3]!.value;
    mutateJson(random, inside.kind === 'members' ? inside : tree, draw.anyId);
  }
  if (fate === 'envelope') {
    if (random.chance(0.5)) mutateJson(random, tree, draw.anyId);
    else random.pick(members).value = strangeNode(random);
  }
  if (random.chance(0.1)) members.reverse();
  const text = writeJson(tree);
  const headers = [...usualHeaders(draw, key, true), ...versionHeader(draw, dialect), ...extraHeaders(random)];
  return {
    binding: 'rpc',
    label: `${dialect} ${name}`,
    method: 'POST',
    path: random.weigh(fate === 'whole' ? ENDPOINTS : PATHS),
    headers,
    body: fate === 'broken' ? breakText(random, text) : Buffer.from(text),
    named: namedBy(draw, !isNaming && !hasMemory(headers)),
  };
};

/** Headers by which one request decides about another. */
export const hasMemory = (headers: HttpRequest['headers']): boolean =>
  headers.some(([name]) => name.toLowerCase() === 'idempotency-key');

const versionHeader = ({ random }: Draw, dialect: string): readonly (readonly [string, string])[] => {
  if (dialect === 'ours') return random.chance(0.5) ? [['A2A-Version', random.pick(['1.0', '0.3'])]] : [];
  if (random.chance(dialect === '1.0' ? 0.25 : 0.6)) return [];
  return [['A2A-Version', random.chance(0.95) ? dialect : random.pick(['1.0', '0.3', '0.1'])]];
};
