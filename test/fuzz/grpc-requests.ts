import type { Draw } from './draw.ts';
import { extraHeaders } from './fuzz-headers.ts';
import { type GrpcRequest, namedBy } from './fuzz-request.ts';
import { breakBytes } from './mutate-bytes.ts';
import { mutateProto } from './mutate-proto.ts';
import { type ProtoMessage, writeProto } from './proto-node.ts';
import { protoOf } from './proto-schema.ts';
import { hasMemory, RARELY } from './rpc-requests.ts';
import { configName, listQuery, send03, send10, taskName, taskQuery, webhook10, webhookOld } from './shapes.ts';

interface GrpcMethod {
  readonly name: string;
  readonly message: (draw: Draw) => ProtoMessage;
  readonly weight: number;
}

const rpc = (name: string, message: GrpcMethod['message'], weight = 2): GrpcMethod => ({ name, message, weight });

const GRPC_METHODS: readonly GrpcMethod[] = [
  rpc('SendMessage', (draw) => protoOf('SendMessageRequest', send10(draw)), 8),
  rpc('SendStreamingMessage', (draw) => protoOf('SendMessageRequest', send10(draw)), 5),
  rpc('GetTask', (draw) => protoOf('TaskRequest', taskQuery(draw)), 3),
  rpc('ListTasks', (draw) => protoOf('ListTasksRequest', listQuery(draw)), 3),
  rpc('CancelTask', (draw) => protoOf('CancelTaskRequest', taskName(draw)), 3),
  rpc('SubscribeToTask', (draw) => protoOf('TaskRequest', taskName(draw)), 3),
  rpc('CreateTaskPushNotificationConfig', (draw) =>
    protoOf('Webhook', {
      ...webhook10(draw),
      ...(draw.random.chance(0.5) ? configName(draw) : { taskId: draw.taskId() }),
    }),
  ),
  rpc('GetTaskPushNotificationConfig', (draw) => protoOf('ConfigRequest', configName(draw))),
  rpc('ListTaskPushNotificationConfigs', (draw) => protoOf('ConfigsRequest', { taskId: draw.taskId() })),
  rpc('DeleteTaskPushNotificationConfig', (draw) => protoOf('ConfigRequest', configName(draw, RARELY))),
  rpc('GetExtendedAgentCard', () => protoOf('CardRequest', {}), 1),
];

/** 0.3 names things like addresses. */
const taskAt = (id: string): string => `tasks/${id}`;
const named = (name: string): ProtoMessage => protoOf('OldNamed', { name });
const configAt = (draw: Draw, probability?: number): string => {
  const [taskId, configId] = draw.pair(probability);
  return `${taskAt(taskId)}/pushNotificationConfigs/${configId}`;
};

const OLD_METHODS: readonly GrpcMethod[] = [
  rpc('SendMessage', (draw) => protoOf('OldSendRequest', send03(draw)), 8),
  rpc('SendStreamingMessage', (draw) => protoOf('OldSendRequest', send03(draw)), 5),
  rpc('GetTask', (draw) => protoOf('OldNamed', { ...taskQuery(draw), name: taskAt(draw.taskId()) }), 3),
  rpc('CancelTask', (draw) => named(taskAt(draw.taskId())), 3),
  rpc('TaskSubscription', (draw) => named(taskAt(draw.taskId())), 3),
  rpc('CreateTaskPushNotificationConfig', (draw) => {
    const [taskId, configId] = draw.pair();
    const pushNotificationConfig = { ...webhookOld(draw), id: configId };
    const config = { name: `${taskAt(taskId)}/pushNotificationConfigs/${configId}`, pushNotificationConfig };
    return protoOf('OldSetting', { parent: taskAt(taskId), configId, config });
  }),
  rpc('GetTaskPushNotificationConfig', (draw) => named(configAt(draw))),
  rpc('ListTaskPushNotificationConfig', (draw) => named(taskAt(draw.taskId()))),
  rpc('DeleteTaskPushNotificationConfig', (draw) => named(configAt(draw, RARELY))),
  rpc('GetAgentCard', () => [], 1),
];

interface GrpcService {
  readonly version: string;
  readonly name: string;
  readonly methods: readonly GrpcMethod[];
}

export const GRPC_SERVICES: readonly (readonly [weight: number, service: GrpcService])[] = [
  [5, { version: '1.0', name: 'lf.a2a.v1.A2AService', methods: GRPC_METHODS }],
  [3, { version: '0.3', name: 'a2a.v1.A2AService', methods: OLD_METHODS }],
];

export const grpcRequest = (draw: Draw, key: string): GrpcRequest => {
  const { random } = draw;
  const { version, name: service, methods } = random.weigh(GRPC_SERVICES);
  const { name, message } = random.weigh(methods.map((chosen) => [chosen.weight, chosen] as const));
  const tree = message(draw);
  const fate = random.weigh([
    [30, 'whole'],
    [45, 'mutated'],
    [20, 'broken'],
    [5, 'unframed'],
  ] as const);
  if (fate === 'mutated') mutateProto(draw, tree);
  const bytes = writeProto(tree);
  const extra = extraHeaders(random).filter(([, value]) => /^[\x20-\x7e]{0,1000}$/.test(value));
  const headers = Object.fromEntries([
    ...extra.filter(([header]) => !/^(?:cookie|accept|origin)$/i.test(header)).map(lowerName),
    ...(random.chance(0.97) ? [['authorization', `Bearer ${key}`]] : []),
    ...(random.chance(0.5) ? [['a2a-version', version]] : []),
    ...(random.chance(0.05) ? [['sealane-agent', random.pick(['echo', 'slow', 'nobody', '../x'])]] : []),
  ]) as Record<string, string>;
  return {
    binding: 'grpc',
    label: `${version} gRPC ${name}`,
    path: `/${fate === 'whole' || random.chance(0.97) ? service : random.pick(OTHER_SERVICES)}/${name}`,
    headers,
    frames:
      fate === 'unframed' ? unframed(draw, bytes) : frameOf(fate === 'broken' ? breakBytes(random, bytes) : bytes),
    isFramed: fate !== 'unframed',
    // Where a message is meant, an id is read as the bytes of one, and what they mean is chance.
    named: namedBy(draw, fate === 'whole' && !hasMemory(Object.entries(headers))),
  };
};

const OTHER_SERVICES = ['lf.a2a.v1.A2AService', 'a2a.v1.A2AService', 'nobody.v1.Service', '..'];

const lowerName = ([name, value]: readonly [string, string]) => [name.toLowerCase(), value] as const;

/** A byte that says "not compressed", and the length. */
const frameOf = (bytes: Buffer, flag = 0, length = bytes.length): Buffer => {
  const head = Buffer.alloc(5);
  head[0] = flag;
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, bytes]);
};

const unframed = ({ random }: Draw, bytes: Buffer): Buffer =>
  random.pick([
    () => frameOf(bytes, 1),
    () => frameOf(bytes, 255),
    () => frameOf(bytes, 0, bytes.length + 10),
    () => frameOf(bytes, 0, 0xff_ff_ff_ff),
    () => frameOf(bytes, 0, Math.max(0, bytes.length - 3)),
    () => Buffer.concat([frameOf(bytes), frameOf(bytes)]),
    () => bytes,
    () => Buffer.alloc(0),
    () => Buffer.alloc(3),
  ])();
