import type { Draw } from './draw.ts';

/** Members that are there only sometimes. */
const maybe = (draw: Draw, probability: number, members: () => object): object =>
  draw.random.chance(probability) ? members() : {};

/** What the echo agent can be made to do, briefly; the last ones go beyond what it is allowed. */
const textOf = ({ random }: Draw): string =>
  random.weigh([
    [30, 'hello'],
    [4, 'grüße an alle 🦭'],
    [4, '@sleep 5'],
    [6, '@stream 3 1'],
    [14, '@ask What do you mean?'],
    [6, '@auth Please sign in.'],
    [3, '@fail as asked'],
    [3, '@reject as asked'],
    [3, '@file'],
    [3, '@data'],
    [3, '@message hello'],
    [2, '@big 2000'],
    [2, '@nonsense'],
    [2, '@sleep 999999999'],
    [1, '@stream 200 0'],
    [1, '@sleep -1'],
  ]);

const metadataOf = ({ random }: Draw): object =>
  random.pick<object>([
    { executor: 'echo' },
    { executor: 'nobody' },
    { executor: 7 },
    { note: 'a note', depth: { of: ['things', 1, null, true] } },
    {},
  ]);

/** Nowhere but here, whatever is changed in them: these are really called. */
const webhookUrl = ({ random, names }: Draw): string =>
  random.weigh([
    [12, names.hookUrl],
    [2, 'http://localhost:9/nobody'],
    [1, 'https://localhost:9/nobody'],
    [1, 'http://name:word@localhost:9/'],
    [1, 'ftp://localhost/'],
    [1, 'localhost'],
  ]);

export const webhook10 = (draw: Draw): object => ({
  url: webhookUrl(draw),
  ...maybe(draw, 0.5, () => ({ id: draw.configId() })),
  ...maybe(draw, 0.4, () => ({ token: 'a-token' })),
  ...maybe(draw, 0.4, () => ({ authentication: { scheme: 'Bearer', credentials: 'a-credential' } })),
});

/** 0.3, 0.2 and 0.1. */
export const webhookOld = (draw: Draw): object => ({
  url: webhookUrl(draw),
  ...maybe(draw, 0.5, () => ({ id: draw.configId() })),
  ...maybe(draw, 0.4, () => ({ token: 'a-token' })),
  ...maybe(draw, 0.4, () => ({ authentication: { schemes: ['Bearer', 'Basic'], credentials: 'a-credential' } })),
});

const part10 = (draw: Draw): object => ({
  ...draw.random.weigh<() => object>([
    [10, () => ({ text: textOf(draw) })],
    [2, () => ({ raw: 'aGVsbG8=', filename: 'hello.txt' })],
    [2, () => ({ url: 'https://files.invalid/a.pdf' })],
    [2, () => ({ data: draw.random.pick<unknown>([{ a: [1, 'two', null] }, [], null, 'text', 5, false]) })],
  ])(),
  ...maybe(draw, 0.2, () => ({ mediaType: draw.random.pick(['text/plain', 'application/json', 'image/png']) })),
  ...maybe(draw, 0.1, () => ({ metadata: metadataOf(draw) })),
});

const partOld = (draw: Draw, member: 'kind' | 'type'): object => ({
  ...draw.random.weigh<() => object>([
    [10, () => ({ [member]: 'text', text: textOf(draw) })],
    [2, () => ({ [member]: 'file', file: { name: 'hello.txt', mimeType: 'text/plain', bytes: 'aGVsbG8=' } })],
    [2, () => ({ [member]: 'file', file: { uri: 'https://files.invalid/a.pdf', mimeType: 'application/pdf' } })],
    [2, () => ({ [member]: 'data', data: { a: [1, 'two', null] } })],
  ])(),
  ...maybe(draw, 0.1, () => ({ metadata: metadataOf(draw) })),
});

const several = (draw: Draw, part: (draw: Draw) => object): readonly object[] =>
  Array.from(
    {
      length: draw.random.weigh([
        [8, 1],
        [2, 2],
        [1, 5],
      ]),
    },
    () => part(draw),
  );

/** What messages of 0.2 and later say about where they belong. */
const belonging = (draw: Draw): object => ({
  ...maybe(draw, 0.2, () => ({ taskId: draw.taskId() })),
  ...maybe(draw, 0.25, () => ({ contextId: draw.contextId() })),
  ...maybe(draw, 0.15, () => ({ metadata: metadataOf(draw) })),
  ...maybe(draw, 0.1, () => ({ referenceTaskIds: [draw.taskId(), draw.taskId()] })),
  ...maybe(draw, 0.1, () => ({ extensions: ['https://example.com/extension'] })),
});

export const message10 = (draw: Draw): object => ({
  messageId: draw.freshId(),
  role: 'ROLE_USER',
  parts: several(draw, part10),
  ...belonging(draw),
});

export const send10 = (draw: Draw): object => ({
  message: message10(draw),
  ...maybe(draw, 0.5, () => ({
    configuration: {
      ...maybe(draw, 0.6, () => ({ returnImmediately: draw.random.chance(0.7) })),
      ...maybe(draw, 0.4, () => ({ historyLength: draw.random.pick([0, 1, 10]) })),
      ...maybe(draw, 0.3, () => ({ acceptedOutputModes: ['text/plain', 'application/json'] })),
      ...maybe(draw, 0.2, () => ({ taskPushNotificationConfig: webhook10(draw) })),
    },
  })),
  ...maybe(draw, 0.2, () => ({ metadata: metadataOf(draw) })),
  ...maybe(draw, 0.1, () => ({ tenant: draw.random.pick(['', 'north', 'south']) })),
});

/** 0.3 and 0.2. */
export const send03 = (draw: Draw): object => ({
  message: {
    kind: 'message',
    messageId: draw.freshId(),
    role: 'user',
    parts: several(draw, (part) => partOld(part, 'kind')),
    ...belonging(draw),
  },
  ...maybe(draw, 0.5, () => ({
    configuration: {
      acceptedOutputModes: ['text/plain'],
      ...maybe(draw, 0.6, () => ({ blocking: draw.random.chance(0.3) })),
      ...maybe(draw, 0.4, () => ({ historyLength: draw.random.pick([0, 1, 10]) })),
      ...maybe(draw, 0.2, () => ({ pushNotificationConfig: webhookOld(draw) })),
    },
  })),
  ...maybe(draw, 0.2, () => ({ metadata: metadataOf(draw) })),
});

export const send01 = (draw: Draw): object => ({
  id: draw.givenId(),
  message: {
    role: 'user',
    parts: several(draw, (part) => partOld(part, 'type')),
    ...maybe(draw, 0.2, () => ({ metadata: metadataOf(draw) })),
  },
  ...maybe(draw, 0.4, () => ({ sessionId: draw.contextId() })),
  ...maybe(draw, 0.3, () => ({ historyLength: draw.random.pick([0, 1, 10]) })),
  ...maybe(draw, 0.2, () => ({ pushNotification: webhookOld(draw) })),
  ...maybe(draw, 0.2, () => ({ metadata: metadataOf(draw) })),
});

export const taskName = (draw: Draw): object => ({
  id: draw.taskId(),
  ...maybe(draw, 0.2, () => ({ metadata: metadataOf(draw) })),
  ...maybe(draw, 0.1, () => ({ tenant: draw.random.pick(['', 'north']) })),
});

export const taskQuery = (draw: Draw): object => ({
  id: draw.taskId(),
  ...maybe(draw, 0.5, () => ({ historyLength: draw.random.pick([0, 1, 100]) })),
});

export const givenTask = (draw: Draw): object => ({ id: draw.random.chance(0.7) ? draw.givenId() : draw.taskId() });

export const listQuery = (draw: Draw): object => ({
  ...maybe(draw, 0.4, () => ({ contextId: draw.contextId() })),
  ...maybe(draw, 0.3, () => ({ status: draw.random.pick(['TASK_STATE_COMPLETED', 'TASK_STATE_INPUT_REQUIRED']) })),
  ...maybe(draw, 0.8, () => ({ pageSize: draw.random.pick([1, 2, 5]) })),
  ...maybe(draw, 0.1, () => ({ pageToken: draw.random.pick(['', 'garbage', 'W10', 'eyJhIjoxfQ']) })),
  ...maybe(draw, 0.3, () => ({ historyLength: draw.random.pick([0, 1]) })),
  ...maybe(draw, 0.2, () => ({ statusTimestampAfter: '2026-01-31T12:00:00.000Z' })),
  ...maybe(draw, 0.3, () => ({ includeArtifacts: draw.random.chance(0.5) })),
});

export const configName = (draw: Draw, probability?: number): object => {
  const [taskId, id] = draw.pair(probability);
  return { taskId, id };
};

export const eventsQuery = (draw: Draw): object => ({
  id: draw.taskId(),
  ...maybe(draw, 0.5, () => ({ after: draw.random.pick([0, 1, 3, 1_000_000]) })),
  ...maybe(draw, 0.5, () => ({ limit: draw.random.pick([1, 10, 1000]) })),
});
