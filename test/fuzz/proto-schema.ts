import type { ProtoField, ProtoMessage } from './proto-node.ts';

/** How a member is written: a kind of scalar, or the name of a message. */
type FieldType = Scalar | MessageName;
type Scalar = 'text' | 'bytes' | 'number' | 'flag' | 'role' | 'state' | 'time' | 'struct' | 'value';

type MessageName = keyof typeof MESSAGES;

/** The requests of `lf.a2a.v1`, by the names that JSON has for their members, and after them those of `a2a.v1`. */
const MESSAGES = {
  SendMessageRequest: {
    tenant: [1, 'text'],
    message: [2, 'Message'],
    configuration: [3, 'Configuration'],
    metadata: [4, 'struct'],
  },
  Configuration: {
    acceptedOutputModes: [1, 'text'],
    taskPushNotificationConfig: [2, 'Webhook'],
    historyLength: [3, 'number'],
    returnImmediately: [4, 'flag'],
  },
  Message: {
    messageId: [1, 'text'],
    contextId: [2, 'text'],
    taskId: [3, 'text'],
    role: [4, 'role'],
    parts: [5, 'Part'],
    metadata: [6, 'struct'],
    extensions: [7, 'text'],
    referenceTaskIds: [8, 'text'],
  },
  Part: {
    text: [1, 'text'],
    raw: [2, 'bytes'],
    url: [3, 'text'],
    data: [4, 'value'],
    metadata: [5, 'struct'],
    filename: [6, 'text'],
    mediaType: [7, 'text'],
  },
  Webhook: {
    tenant: [1, 'text'],
    id: [2, 'text'],
    taskId: [3, 'text'],
    url: [4, 'text'],
    token: [5, 'text'],
    authentication: [6, 'Authentication'],
  },
  Authentication: { scheme: [1, 'text'], credentials: [2, 'text'] },
  TaskRequest: { tenant: [1, 'text'], id: [2, 'text'], historyLength: [3, 'number'] },
  CancelTaskRequest: { tenant: [1, 'text'], id: [2, 'text'], metadata: [3, 'struct'] },
  ListTasksRequest: {
    tenant: [1, 'text'],
    contextId: [2, 'text'],
    status: [3, 'state'],
    pageSize: [4, 'number'],
    pageToken: [5, 'text'],
    historyLength: [6, 'number'],
    statusTimestampAfter: [7, 'time'],
    includeArtifacts: [8, 'flag'],
  },
  ConfigRequest: { tenant: [1, 'text'], taskId: [2, 'text'], id: [3, 'text'] },
  ConfigsRequest: { taskId: [1, 'text'], pageSize: [2, 'number'], pageToken: [3, 'text'], tenant: [4, 'text'] },
  CardRequest: { tenant: [1, 'text'] },

  OldSendRequest: { message: [1, 'OldMessage'], configuration: [2, 'OldConfiguration'], metadata: [3, 'struct'] },
  OldConfiguration: {
    acceptedOutputModes: [1, 'text'],
    pushNotificationConfig: [2, 'OldWebhook'],
    historyLength: [3, 'number'],
    blocking: [4, 'flag'],
  },
  OldMessage: {
    messageId: [1, 'text'],
    contextId: [2, 'text'],
    taskId: [3, 'text'],
    role: [4, 'role'],
    parts: [5, 'OldPart'],
    metadata: [6, 'struct'],
    extensions: [7, 'text'],
  },
  OldPart: { text: [1, 'text'], file: [2, 'OldFile'], data: [3, 'OldData'], metadata: [4, 'struct'] },
  OldFile: { uri: [1, 'text'], bytes: [2, 'bytes'], mimeType: [3, 'text'], name: [4, 'text'] },
  OldData: { data: [1, 'struct'] },
  OldWebhook: { id: [1, 'text'], url: [2, 'text'], token: [3, 'text'], authentication: [4, 'OldAuthentication'] },
  OldAuthentication: { schemes: [1, 'text'], credentials: [2, 'text'] },
  OldNamed: { name: [1, 'text'], historyLength: [2, 'number'] },
  OldSetting: { parent: [1, 'text'], configId: [2, 'text'], config: [3, 'OldSet'] },
  OldSet: { name: [1, 'text'], pushNotificationConfig: [2, 'OldWebhook'] },
} as const;

const STATES = ['', 'SUBMITTED', 'WORKING', 'COMPLETED', 'FAILED', 'CANCELED', 'INPUT_REQUIRED', 'REJECTED'];

const number = (field: number, value: bigint): ProtoField => ({ number: field, wire: 0, value });
const inner = (field: number, value: Buffer | ProtoMessage): ProtoField => ({ number: field, wire: 2, value });
const text = (field: number, value: string): ProtoField => inner(field, Buffer.from(value));

export const protoOf = (name: MessageName, value: object): ProtoMessage =>
  Object.entries(MESSAGES[name] as Readonly<Record<string, readonly [number, FieldType]>>).flatMap(
    ([member, [field, type]]) => {
      const given = (value as Readonly<Record<string, unknown>>)[member];
      if (given === undefined) return [];
      return (Array.isArray(given) && type !== 'value' ? (given as unknown[]) : [given]).map((item) =>
        fieldOf(field, type, item),
      );
    },
  );

const fieldOf = (field: number, type: FieldType, value: unknown): ProtoField => {
  if (type in WRITERS) return WRITERS[type as Scalar](field, value);
  // Data of 0.3 are in a message of their own, which JSON has not.
  return inner(field, protoOf(type as MessageName, type === 'OldData' ? { data: value } : (value as object)));
};

const flagOf = (field: number, value: unknown): ProtoField => number(field, BigInt(Number(value)));

const WRITERS: Readonly<Record<Scalar, (field: number, value: unknown) => ProtoField>> = {
  text: (field, value) => text(field, String(value)),
  bytes: (field, value) => inner(field, Buffer.from(String(value), 'base64')),
  number: flagOf,
  flag: flagOf,
  role: (field, value) => number(field, String(value).toUpperCase().endsWith('USER') ? 1n : 2n),
  state: (field, value) => number(field, BigInt(STATES.indexOf(String(value).replace('TASK_STATE_', '')))),
  time: (field, value) => inner(field, [number(1, BigInt(Math.floor(Date.parse(String(value)) / 1000)))]),
  struct: (field, value) => inner(field, structOf(value as object)),
  value: (field, value) => inner(field, valueOf(value)),
};

const structOf = (value: object): ProtoMessage =>
  Object.entries(value).map(([key, member]) => inner(1, [text(1, key), inner(2, valueOf(member))]));

const valueOf = (value: unknown): ProtoMessage => {
  if (value === null) return [number(1, 0n)];
  if (typeof value === 'number') {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleLE(value);
    return [{ number: 2, wire: 1, value: bytes }];
  }
  if (typeof value === 'string') return [text(3, value)];
  if (typeof value === 'boolean') return [number(4, value ? 1n : 0n)];
  if (Array.isArray(value))
    return [
      inner(
        6,
        value.map((item) => inner(1, valueOf(item))),
      ),
    ];
  return [inner(5, structOf(value as object))];
};
