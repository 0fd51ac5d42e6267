/**
 * JSON as a tree that can say what no value can: members twice, numbers beyond a double, texts that are no characters.
 */
export type JsonNode = JsonScalar | JsonList | JsonMembers;

/** Written as it is. */
export interface JsonScalar {
  readonly kind: 'scalar';
  text: string;
}

export interface JsonList {
  readonly kind: 'list';
  readonly items: JsonNode[];
}

export interface JsonMembers {
  readonly kind: 'members';
  readonly members: JsonMember[];
}

export interface JsonMember {
  name: string;
  value: JsonNode;
}

export const scalar = (text: string): JsonScalar => ({ kind: 'scalar', text });

export const nodeOf = (value: unknown): JsonNode => {
  if (Array.isArray(value)) return { kind: 'list', items: value.map(nodeOf) };
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .map(([name, member]) => ({ name, value: nodeOf(member) }));
    return { kind: 'members', members };
  }
  return scalar(JSON.stringify(value ?? null));
};

export const writeJson = (node: JsonNode): string => {
  switch (node.kind) {
    case 'scalar':
      return node.text;
    case 'list':
      return `[${node.items.map(writeJson).join(',')}]`;
    case 'members':
      return `{${node.members.map(({ name, value }) => `${JSON.stringify(name)}:${writeJson(value)}`).join(',')}}`;
  }
};

/** A place in a tree whose node can be exchanged. */
export interface JsonSlot {
  readonly node: JsonNode;
  readonly replace: (node: JsonNode) => void;
  /** The object that holds it, and where. */
  readonly holder: { readonly members: JsonMember[]; readonly index: number } | undefined;
}

/** All places below a node, itself not included. */
export const slotsOf = (node: JsonNode, found: JsonSlot[] = []): readonly JsonSlot[] => {
  if (node.kind === 'list') {
    node.items.forEach((item, index) => {
      found.push({ node: item, replace: (other) => (node.items[index] = other), holder: undefined });
      slotsOf(item, found);
    });
  } else if (node.kind === 'members') {
    node.members.forEach((member, index) => {
      found.push({
        node: member.value,
        replace: (other) => (member.value = other),
        holder: { members: node.members, index },
      });
      slotsOf(member.value, found);
    });
  }
  return found;
};
