import type { Draw } from './draw.ts';
import { extraHeaders, usualHeaders } from './fuzz-headers.ts';
import { type HttpRequest, namedBy } from './fuzz-request.ts';
import type { FuzzRandom } from './fuzz-random.ts';
import { nodeOf, writeJson } from './json-node.ts';
import { longText, strangeNode, strangeText } from './junk.ts';
import { breakText } from './mutate-bytes.ts';
import { mutateJson } from './mutate-json.ts';
import { hasMemory, RARELY } from './rpc-requests.ts';
import { listQuery, send03, send10, taskQuery, webhook10, webhookOld } from './shapes.ts';

interface RestRoute {
  readonly label: string;
  readonly verb: string;
  readonly path: (draw: Draw) => string;
  readonly query?: (draw: Draw) => object;
  readonly body?: (draw: Draw) => object | undefined;
  readonly weight: number;
}

const BASES: readonly (readonly [number, string])[] = [
  [12, ''],
  [6, '/a2a'],
  [4, '/agents/echo'],
  [1, '/agents/nobody'],
];

/** An id as one piece of a path. */
const piece = (id: string): string => encodeURIComponent(id.toWellFormed());
const task = (draw: Draw): string => `/tasks/${piece(draw.taskId())}`;
const hooks = (draw: Draw): string => `${task(draw)}/pushNotificationConfigs`;
const hook = (draw: Draw, probability?: number): string => {
  const [taskId, configId] = draw.pair(probability);
  return `/tasks/${piece(taskId)}/pushNotificationConfigs/${piece(configId)}`;
};

const without =
  (shape: (draw: Draw) => object, ...names: readonly string[]) =>
  (draw: Draw): object =>
    Object.fromEntries(Object.entries(shape(draw)).filter(([name]) => !names.includes(name)));

const optional = (draw: Draw): object | undefined =>
  draw.random.pick<object | undefined>([undefined, {}, { metadata: { a: 1 } }]);

const route = (
  label: string,
  line: readonly [verb: string, path: string | ((draw: Draw) => string)],
  more: Pick<RestRoute, 'query' | 'body'> = {},
  weight = 2,
): RestRoute => {
  const [verb, path] = line;
  return { label, verb, path: typeof path === 'string' ? () => path : path, weight, ...more };
};

const ROUTES_10: readonly RestRoute[] = [
  route('send', ['POST', '/message:send'], { body: send10 }, 10),
  route('stream', ['POST', '/message:stream'], { body: send10 }, 6),
  route('get', ['GET', task], { query: without(taskQuery, 'id') }, 4),
  route('list', ['GET', '/tasks'], { query: listQuery }, 5),
  route('cancel', ['POST', (draw) => `${task(draw)}:cancel`], { body: optional }, 4),
  route('subscribe', ['GET', (draw) => `${task(draw)}:subscribe`], {}, 3),
  route('subscribe', ['POST', (draw) => `${task(draw)}:subscribe`], { body: optional }, 3),
  route('push create', ['POST', hooks], { body: webhook10 }, 3),
  route('push list', ['GET', hooks]),
  route('push get', ['GET', hook]),
  route('push delete', ['DELETE', (draw) => hook(draw, RARELY)]),
  route('extended card', ['GET', '/extendedAgentCard'], {}, 1),
  route('card', ['GET', '/.well-known/agent-card.json'], {}, 1),
  route('old card', ['GET', '/.well-known/agent.json'], {}, 1),
  route('events', ['GET', (draw) => `${task(draw)}/events`], { query: () => ({ after: 1, limit: 5 }) }),
  route('delete', ['DELETE', task], {}, 1),
];

const ROUTES_03: readonly RestRoute[] = [
  route('send', ['POST', '/v1/message:send'], { body: send03 }, 8),
  route('stream', ['POST', '/v1/message:stream'], { body: send03 }, 5),
  route('get', ['GET', (draw) => `/v1${task(draw)}`], { query: without(taskQuery, 'id') }, 3),
  route('list', ['GET', '/v1/tasks'], { query: listQuery }),
  route('cancel', ['POST', (draw) => `/v1${task(draw)}:cancel`], { body: optional }, 3),
  route('subscribe', ['GET', (draw) => `/v1${task(draw)}:subscribe`]),
  route('subscribe', ['POST', (draw) => `/v1${task(draw)}:subscribe`], { body: optional }),
  route('push set', ['POST', (draw) => `/v1${hooks(draw)}`], {
    body: (draw) => (draw.random.chance(0.5) ? { pushNotificationConfig: webhookOld(draw) } : webhookOld(draw)),
  }),
  route('push list', ['GET', (draw) => `/v1${hooks(draw)}`]),
  route('push get', ['GET', (draw) => `/v1${hook(draw)}`]),
  route('push delete', ['DELETE', (draw) => `/v1${hook(draw, RARELY)}`]),
  route('card', ['GET', '/v1/card'], {}, 1),
];

/** The operator's addresses, for somebody who is not the operator. */
const ROUTES_ADMIN: readonly RestRoute[] = [
  route('tasks', ['GET', '/admin/tasks']),
  route('task', ['GET', (draw) => `/admin${task(draw)}`]),
  route('keys', ['GET', '/admin/keys']),
  route('new key', ['POST', '/admin/keys'], { body: () => ({ name: 'mine', owner: 'bob', admin: true }) }),
  route('lanes', ['GET', '/admin/lanes']),
  route('backup', ['POST', '/admin/backup'], { body: () => ({}) }),
  route('export', ['GET', '/admin/export']),
];

export const REST_ROUTES: Readonly<Record<string, readonly RestRoute[]>> = {
  '1.0': ROUTES_10,
  '0.3': ROUTES_03,
  admin: ROUTES_ADMIN,
};

export const restRequest = (draw: Draw, key: string): HttpRequest => {
  const { random } = draw;
  const version = random.weigh([
    [10, '1.0'],
    [6, '0.3'],
    [1, 'admin'],
  ]);
  const chosen = random.weigh(REST_ROUTES[version]!.map((line) => [line.weight, line] as const));
  const isWhole = random.chance(0.28);
  const value = chosen.body?.(draw);
  const body = value === undefined ? undefined : bodyOf(draw, value, isWhole);
  const base = version === 'admin' ? '' : random.weigh(isWhole ? BASES.slice(0, -1) : BASES);
  const query = queryOf(draw, chosen.query?.(draw) ?? {}, isWhole);
  const plain = `${base}${version === '1.0' && random.chance(0.05) ? '/north' : ''}${chosen.path(draw)}`;
  const headers = [
    ...usualHeaders(draw, key, body !== undefined),
    ...(version !== 'admin' && random.chance(0.3) ? ([['A2A-Version', version]] as const) : []),
    ...extraHeaders(random),
  ];
  return {
    binding: 'rest',
    label: `${version} REST ${chosen.label}`,
    method:
      !isWhole && random.chance(0.05)
        ? random.pick(['PUT', 'PATCH', 'DELETE', 'POST', 'GET', 'HEAD', 'OPTIONS'])
        : chosen.verb,
    path: `${isWhole || random.chance(0.8) ? plain : strangePath(random, plain)}${query}`,
    headers,
    body,
    named: namedBy(draw, !hasMemory(headers)),
  };
};

const bodyOf = (draw: Draw, value: object, isWhole: boolean): Buffer => {
  const { random } = draw;
  const tree = nodeOf(value);
  if (isWhole) return Buffer.from(writeJson(tree));
  if (random.chance(0.04)) return Buffer.from(writeJson(strangeNode(random)));
  if (random.chance(0.8)) mutateJson(random, tree, draw.anyId);
  return random.chance(0.12) ? breakText(random, writeJson(tree)) : Buffer.from(writeJson(tree));
};

/** Pieces that a path is cut and broken with. */
const PATH_PIECES = [
  '/',
  '//',
  '/.',
  '/..',
  '%2f',
  '%2e%2e',
  '%00',
  '%ff',
  '%',
  '%zz',
  ':',
  ':cancel',
  ';a=b',
  '?',
  '\\',
  '*',
];

const strangePath = (random: FuzzRandom, path: string): string => {
  const index = random.between(1, path.length);
  return random.pick<() => string>([
    () => path.slice(0, index) + random.pick(PATH_PIECES) + path.slice(index),
    () => path.slice(0, index),
    () => path + random.pick(PATH_PIECES),
    () => path.replaceAll(':', '%3A'),
    () => path.toUpperCase(),
    () => `/${random.pick(['v1', 'v2', 'tenant', '__proto__', 'agents', '..'])}${path}`,
    () => `${path}/${encodeURIComponent(strangeText(random).toWellFormed())}`,
    () => `${path}${'/x'.repeat(random.between(1, 200))}`,
  ])();
};

const queryOf = ({ random, anyId }: Draw, members: object, isWhole: boolean): string => {
  const pairs = Object.entries(members).map(([name, value]) => [name, String(value)] as [string, string]);
  while (!isWhole && random.chance(0.35)) {
    const value = random.weigh<() => string>([
      [5, () => strangeText(random)],
      [3, anyId],
      [3, () => random.pick(['-1', '0', '1e999', '0.5', '99999999999999999999', 'TRUE', '[]', 'NaN'])],
      [1, () => longText(random).slice(0, 4000)],
    ])();
    const known = pairs.length > 0 && random.chance(0.6) ? random.pick(pairs) : undefined;
    if (known) known[1] = value;
    else
      pairs.push([random.pick(['historyLength', 'page_size', 'tenant', 'id', '__proto__', 'contextId', 'x']), value]);
  }
  if (pairs.length === 0) return '';
  const text = pairs.map(([name, value]) => `${name}=${encodeURIComponent(value.toWellFormed())}`).join('&');
  return `?${text}${isWhole || random.chance(0.95) ? '' : random.pick(['&', '&&=&', '&%', '&%ff=%ff', '&a[b]=c', '#x'])}`;
};
