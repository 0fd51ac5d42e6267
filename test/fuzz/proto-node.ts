/** One field of a protobuf message as it goes over the wire, whether or not anybody knows it. */
export interface ProtoField {
  number: number;
  /** 0 varint, 1 eight bytes, 2 length and bytes, 5 four bytes; 3, 4, 6 and 7 are wrong everywhere. */
  wire: number;
  value: bigint | Buffer | ProtoMessage;
}

export type ProtoMessage = ProtoField[];

export const varint = (value: bigint): Buffer => {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, value);
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  return Buffer.from([...bytes, Number(rest)]);
};

const sized = (bytes: Buffer): Buffer => Buffer.concat([varint(BigInt(bytes.length)), bytes]);

export const writeProto = (fields: ProtoMessage): Buffer => Buffer.concat(fields.map(writeField));

const writeField = ({ number, wire, value }: ProtoField): Buffer => {
  const tag = varint((BigInt(number) << 3n) | BigInt(wire));
  const bytes = Array.isArray(value) ? writeProto(value) : value;
  if (wire === 0) return Buffer.concat([tag, typeof bytes === 'bigint' ? varint(bytes) : bytes]);
  if (wire === 2) return Buffer.concat([tag, sized(typeof bytes === 'bigint' ? varint(bytes) : bytes)]);
  const length = wire === 1 ? 8 : wire === 5 ? 4 : 0;
  const fixed = Buffer.alloc(length);
  (typeof bytes === 'bigint' ? varint(bytes) : bytes).copy(fixed, 0, 0, length);
  return Buffer.concat([tag, fixed]);
};

/** A message inside a message, so many times, without the cost of writing each of them out. */
export const nestProto = (numbers: readonly number[], depth: number): Buffer => {
  const heads: Buffer[] = [];
  let length = 0;
  for (let level = 0; level < depth; level += 1) {
    const number = numbers[level % numbers.length]!;
    const head = Buffer.concat([varint((BigInt(number) << 3n) | 2n), varint(BigInt(length))]);
    heads.push(head);
    length += head.length;
  }
  return Buffer.concat(heads.toReversed());
};

/** All messages of a tree. */
export const messagesOf = (root: ProtoMessage, found: ProtoMessage[] = []): readonly ProtoMessage[] => {
  found.push(root);
  for (const { value } of root) if (Array.isArray(value)) messagesOf(value, found);
  return found;
};
