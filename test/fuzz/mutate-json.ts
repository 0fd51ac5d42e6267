import type { FuzzRandom } from './fuzz-random.ts';
import { type JsonMember, type JsonNode, type JsonSlot, nodeOf, scalar, slotsOf, writeJson } from './json-node.ts';
import { longText, nest, strangeName, strangeNode, strangeNumber, strangeText } from './junk.ts';

/** Members that belong to some dialect, and so look at home where they are not. */
const MEMBERS_OF_ALL: readonly (readonly [string, unknown])[] = [
  ['kind', 'message'],
  ['kind', 'task'],
  ['kind', 'text'],
  ['type', 'text'],
  ['role', 'user'],
  ['role', 'ROLE_USER'],
  ['role', 'agent'],
  ['sessionId', 'a-session'],
  ['contextId', 'a-context'],
  ['context_id', 'a-context'],
  ['taskId', 'a-task'],
  ['id', 'an-id'],
  ['messageId', 'a-message'],
  ['tenant', 'another'],
  ['tenant', ''],
  ['blocking', true],
  ['blocking', false],
  ['returnImmediately', true],
  ['historyLength', 0],
  ['history_length', 3],
  ['final', true],
  ['file', { bytes: 'aGVsbG8=', mimeType: 'text/plain', name: 'a.txt' }],
  ['data', null],
  ['data', { a: [1, 2] }],
  ['text', 'another text'],
  ['raw', 'aGVsbG8='],
  ['url', 'http://localhost:9/x'],
  ['metadata', { executor: 'nobody' }],
  ['metadata', { executor: 'echo' }],
  ['metadata', {}],
  ['extensions', ['https://example.com/extension']],
  ['referenceTaskIds', ['a-task']],
  ['acceptedOutputModes', []],
  ['pushNotificationConfig', { url: 'http://localhost:9/x', token: 'a-token' }],
  ['pushNotification', { url: 'http://localhost:9/x' }],
  ['taskPushNotificationConfig', { url: 'http://localhost:9/x' }],
  ['authentication', { schemes: ['Bearer'], credentials: 'a-credential' }],
  ['authentication', { scheme: 'Bearer', credentials: 'a\r\nb' }],
  ['status', 'TASK_STATE_WORKING'],
  ['status', { state: 'working' }],
  ['artifacts', []],
  ['history', []],
];

type Mutation = (random: FuzzRandom, root: JsonNode, slots: readonly JsonSlot[], idOf: () => string) => void;

const inObjects = (change: (random: FuzzRandom, members: JsonMember[], index: number) => void): Mutation => {
  return (random, _root, slots) => {
    const inside = slots.flatMap(({ holder }) => (holder ? [holder] : []));
    if (inside.length === 0) return;
    const { members, index } = random.pick(inside);
    change(random, members, index);
  };
};

const anywhere =
  (change: (random: FuzzRandom, slot: JsonSlot, idOf: () => string) => void): Mutation =>
  (random, _root, slots, idOf) => {
    if (slots.length > 0) change(random, random.pick(slots), idOf);
  };

const drop = inObjects((_random, members, index) => void members.splice(index, 1));
const repeat = inObjects((random, members, index) => {
  const { name, value } = members[index]!;
  const twin = { name, value: random.chance(0.5) ? value : strangeNode(random) };
  members.splice(random.between(0, members.length), 0, twin);
});
const rename = inObjects((random, members, index) => {
  const member = members[index]!;
  member.name = random.pick([
    strangeName(random),
    member.name.toUpperCase(),
    `${member.name} `,
    snakeOf(member.name),
    camelOf(member.name),
  ]);
});
/** Both spellings of a name at once. */
const twin = inObjects((random, members, index) => {
  const { name, value } = members[index]!;
  const other = name.includes('_') ? camelOf(name) : snakeOf(name);
  if (other !== name) members.push({ name: other, value: random.chance(0.6) ? value : strangeNode(random) });
});
const addStrange = inObjects(
  (random, members) => void members.push({ name: strangeName(random), value: strangeNode(random) }),
);
const addOfAnotherDialect = inObjects((random, members) => {
  const [name, value] = random.pick(MEMBERS_OF_ALL);
  const known = members.find((member) => member.name === name);
  if (known && random.chance(0.7)) known.value = nodeOf(value);
  else members.push({ name, value: nodeOf(value) });
});
const replaceByJunk = anywhere((random, { replace }) => replace(strangeNode(random)));
const replaceByNull = anywhere((_random, { replace }) => replace(scalar('null')));
const replaceText = anywhere((random, { replace }) => replace(scalar(JSON.stringify(strangeText(random)))));
const replaceNumber = anywhere((random, { replace }) => replace(scalar(strangeNumber(random))));
const lengthen = anywhere((random, { replace }) => replace(scalar(JSON.stringify(longText(random)))));
const nameSomething = anywhere((_random, { replace }, idOf) => replace(scalar(JSON.stringify(idOf()))));
const wrap = anywhere((random, { node, replace }) =>
  replace(
    random.chance(0.5)
      ? { kind: 'list', items: [node] }
      : { kind: 'members', members: [{ name: random.pick(['value', 'text', 'id', '__proto__']), value: node }] },
  ),
);
const empty = anywhere((random, { replace }) =>
  replace(random.chance(0.5) ? { kind: 'list', items: [] } : { kind: 'members', members: [] }),
);
const deepen = anywhere((random, { node, replace }) => replace(nest(random, node, writeJson)));
const multiply: Mutation = (random, _root, slots) => {
  const lists = slots.flatMap(({ node }) => (node.kind === 'list' && node.items.length > 0 ? [node.items] : []));
  if (lists.length === 0) return;
  const items = random.pick(lists);
  const count = random.pick([1, 1, 98, 99, 100, 1000]);
  const last = items.at(-1)!;
  // One node in many places, which later mutations would change in all of them: as text it is only itself.
  const copy = scalar(writeJson(last));
  for (let added = 0; added < count; added += 1) items.push(copy);
};
const swap: Mutation = (random, _root, slots) => {
  if (slots.length < 2) return;
  const [one, other] = [random.pick(slots), random.pick(slots)];
  // Texts only: two nodes of which one holds the other would make a ring.
  if (one.node.kind !== 'scalar' || other.node.kind !== 'scalar') return;
  const { text } = one.node;
  one.node.text = other.node.text;
  other.node.text = text;
};

const MUTATIONS: readonly (readonly [number, Mutation])[] = [
  [10, drop],
  [6, repeat],
  [8, rename],
  [5, twin],
  [5, addStrange],
  [12, addOfAnotherDialect],
  [12, replaceByJunk],
  [6, replaceByNull],
  [8, replaceText],
  [6, replaceNumber],
  [3, lengthen],
  [12, nameSomething],
  [5, wrap],
  [4, empty],
  [3, deepen],
  [3, multiply],
  [5, swap],
];

/** Changes a valid tree in place, once or a few times. */
export const mutateJson = (random: FuzzRandom, root: JsonNode, idOf: () => string): void => {
  const times = random.weigh([
    [6, 1],
    [3, 2],
    [1, 4],
  ]);
  for (let done = 0; done < times; done += 1) random.weigh(MUTATIONS)(random, root, slotsOf(root), idOf);
};

const snakeOf = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const camelOf = (name: string): string => name.replace(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase());
