import type { Draw } from './draw.ts';
import type { FuzzRandom } from './fuzz-random.ts';
import { longText, strangeText } from './junk.ts';
import { messagesOf, nestProto, type ProtoField, type ProtoMessage } from './proto-node.ts';

const STRANGE_VARINTS = [
  0n,
  1n,
  2n,
  7n,
  127n,
  2n ** 31n - 1n,
  2n ** 31n,
  2n ** 32n,
  2n ** 53n + 1n,
  2n ** 63n,
  -1n,
  -5n,
];
const STRANGE_BYTES = [
  Buffer.from([]),
  Buffer.from([0xff, 0xfe]),
  Buffer.from([0xed, 0xa0, 0x80]),
  Buffer.from([0xc0, 0x80]),
  Buffer.from([0, 0, 0]),
  Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f]),
];
const NUMBERS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 1000, 536_870_911];

/** NaN and infinity, which JSON has not. */
const STRANGE_DOUBLES = [NaN, Infinity, -Infinity, -0, 5e-324, Number.MAX_VALUE].map((value) => {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return bytes;
});

/** `google.protobuf.Value` in a list in a value, or in a struct; the way in is the field of a Part or of a request. */
const NESTINGS: readonly (readonly number[])[] = [[1, 6], [1, 6, 4], [2, 1, 5], [2], [5]];

const valueOf = ({ random, anyId }: Draw): ProtoField['value'] =>
  random.weigh<() => ProtoField['value']>([
    [4, () => random.pick(STRANGE_VARINTS)],
    [4, () => Buffer.from(strangeText(random))],
    [3, () => Buffer.from(anyId())],
    [3, () => random.pick(STRANGE_BYTES)],
    [2, () => random.pick(STRANGE_DOUBLES)],
    [1, () => Buffer.from(longText(random))],
    [1, () => nestProto(random.pick(NESTINGS), depthOf(random))],
    [1, () => [{ number: 1, wire: 2, value: Buffer.from('x') }]],
  ])();

const depthOf = (random: FuzzRandom): number =>
  random.weigh([
    [10, random.between(2, 150)],
    [4, random.between(1000, 5000)],
    [1, 60_000],
  ]);

type Mutation = (draw: Draw, message: ProtoMessage, index: number) => void;

const MUTATIONS: readonly (readonly [number, Mutation])[] = [
  [4, (_draw, message, index) => void message.splice(index, 1)],
  [3, (_draw, message, index) => void message.push({ ...message[index]! })],
  [3, ({ random }, message, index) => void (message[index]!.number = random.pick(NUMBERS))],
  [3, ({ random }, message, index) => void (message[index]!.wire = random.between(0, 7))],
  [8, (draw, message, index) => replace(message[index]!, valueOf(draw))],
  [3, (draw, message) => void message.push(added(draw))],
];

const replace = (field: ProtoField, value: ProtoField['value']): void => {
  field.value = value;
  field.wire = typeof value === 'bigint' ? 0 : value.length === 8 && Buffer.isBuffer(value) ? 1 : 2;
};

const added = (draw: Draw): ProtoField => {
  const field: ProtoField = { number: draw.random.pick(NUMBERS), wire: 2, value: Buffer.alloc(0) };
  replace(field, valueOf(draw));
  return field;
};

/** Changes the fields of a valid message in place: what comes out can still be read, mostly. */
export const mutateProto = (draw: Draw, root: ProtoMessage): void => {
  const { random } = draw;
  for (let left = random.between(1, 3); left > 0; left -= 1) {
    const message = random.pick(messagesOf(root));
    if (message.length === 0) message.push(added(draw));
    else random.weigh(MUTATIONS)(draw, message, random.between(0, message.length - 1));
  }
};
