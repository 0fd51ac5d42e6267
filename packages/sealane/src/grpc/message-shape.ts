/**
 * The SDK has codecs between bytes and messages of `a2a.v1`, and none between such messages and JSON. A shape says how
 * the members of a message look on both sides; one table of them serves both directions.
 */
export type Field =
  | 'text'
  | 'flag'
  | 'number'
  | 'bytes'
  /** A `Struct` or a time: the same on both sides. */
  | 'same'
  | { readonly names: readonly string[] }
  | { readonly message: Shape }
  | { readonly list: Field }
  | { readonly map: Field };

export interface Shape {
  /** By the member's name in the message. */
  readonly fields: Readonly<Record<string, Field>>;
  /** Members of which there is one at a time; the message has them under one name. */
  readonly choice?: { readonly name: string; readonly cases: Readonly<Record<string, Field>> };
  /** Where JSON calls a member by another name. */
  readonly jsonNames?: Readonly<Record<string, string>>;
}

interface Members {
  [name: string]: unknown;
}

/** A message out of JSON: every member is there, with its default where the JSON has none. */
export const messageOf = (shape: Shape, json: Members): Members => {
  const message: Members = {};
  for (const [name, field] of Object.entries(shape.fields)) {
    message[name] = toMember(field, json[shape.jsonNames?.[name] ?? name]);
  }
  const { choice } = shape;
  for (const [name, field] of Object.entries(choice?.cases ?? {})) {
    const value = json[shape.jsonNames?.[name] ?? name];
    if (choice && value !== undefined) message[choice.name] = { $case: name, value: toMember(field, value) };
  }
  return message;
};

/** JSON out of a message. Defaults stay: whether they mean something is for the reader to say. */
export const jsonOf = (shape: Shape, message: Members): Members => {
  const json: Members = {};
  for (const [name, field] of Object.entries(shape.fields)) {
    if (message[name] !== undefined) json[shape.jsonNames?.[name] ?? name] = toJson(field, message[name]);
  }
  const chosen = shape.choice && (message[shape.choice.name] as { $case: string; value: unknown } | undefined);
  const field = chosen && shape.choice?.cases[chosen.$case];
  if (chosen && field) json[shape.jsonNames?.[chosen.$case] ?? chosen.$case] = toJson(field, chosen.value);
  return json;
};

const toMember = (field: Field, value: unknown): unknown => {
  if (field === 'text') return value ?? '';
  if (field === 'flag') return value ?? false;
  if (field === 'number') return value ?? 0;
  if (field === 'bytes') return Buffer.from((value ?? '') as string, 'base64');
  if (field === 'same') return value;
  if ('names' in field) return Math.max(0, field.names.indexOf(value as string));
  if ('message' in field) return value === undefined ? undefined : messageOf(field.message, value as Members);
  if ('list' in field) return ((value ?? []) as readonly unknown[]).map((item) => toMember(field.list, item));
  return mapped(value, (item) => toMember(field.map, item));
};

const toJson = (field: Field, value: unknown): unknown => {
  if (field === 'bytes') return (value as Buffer).toString('base64');
  if (typeof field === 'string') return value;
  if ('names' in field) return field.names[value as number] ?? value;
  if ('message' in field) return jsonOf(field.message, value as Members);
  if ('list' in field) return (value as readonly unknown[]).map((item) => toJson(field.list, item));
  return mapped(value, (item) => toJson(field.map, item));
};

const mapped = (value: unknown, convert: (item: unknown) => unknown): Members =>
  Object.fromEntries(Object.entries((value ?? {}) as Members).map(([key, item]) => [key, convert(item)]));
