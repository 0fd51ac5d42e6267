import { SealaneError } from '#domain';
import type { RestRoute } from '#protocol';

import type { RestBinding } from './rest-binding.ts';
import { PLACEHOLDER } from './rest-params.ts';

/** What an address means: the calls that can be made there, and the names in it. */
export interface RestAddress {
  readonly binding: RestBinding;
  readonly agent: string | undefined;
  readonly tenant: string | undefined;
  /** At most one for each verb. */
  readonly routes: readonly RestRoute[];
  /** The members of the method's params that the address holds. */
  readonly named: Readonly<Record<string, string>>;
  /** The address with its names left out, for metrics. */
  readonly pattern: string;
}

/** First words of addresses that are not REST's. */
const OTHER_WORDS = ['a2a', 'admin', 'agent', 'agents', 'v1', '.well-known', 'healthz', 'readyz', 'metrics'];

/**
 * Finds what an address means. Addresses lie under the bases of JSON-RPC (``, `/a2a`, `/agents/<name>`), then comes the
 * binding's prefix, then perhaps a tenant, over which the binding's own words win. The framework's router could do most
 * of this, but not tell the colon of `/tasks/{id}:cancel` from an encoded one of the id; and it would keep several
 * megabytes of trees for it. Throws `bad-config` when an address has two meanings.
 */
export const createAddressFinder = (bindings: readonly RestBinding[], mountedAt: string) => {
  const skipped = segmentsOf(mountedAt).length;
  const tables = bindings.map((binding) => {
    const places = placesOf(binding.routes);
    // A tenant of such a name can only be given in the body or the query.
    const noTenants = new Set([...OTHER_WORDS, ...places.map(({ steps }) => steps[0])]);
    return { binding, places, noTenants };
  });

  return (url: string): RestAddress | undefined => {
    const { agent, base, rest } = cutBase(segmentsOf(url).slice(skipped));
    for (const { binding, places, noTenants } of tables) {
      const { prefix, hasTenants } = binding;
      if (prefix !== '' && `/${rest[0]?.text}` !== prefix) continue;
      const segments = prefix === '' ? rest : rest.slice(1);
      const here = findPlace(places, segments);
      if (here) return { binding, agent, tenant: undefined, ...here, pattern: `${base}${prefix}${here.pattern}` };
      const tenant = segments[0]?.text;
      if (!hasTenants || tenant === undefined || noTenants.has(tenant)) continue;
      const there = findPlace(places, segments.slice(1));
      if (there) return { binding, agent, tenant, ...there, pattern: `${base}${prefix}/{tenant}${there.pattern}` };
    }
    return undefined;
  };
};

interface Segment {
  /** As it was sent. */
  readonly raw: string;
  readonly text: string;
}

/** Slashes too many, and at the end, mean nothing. A proxy may send the whole address. */
const segmentsOf = (url: string): readonly Segment[] => {
  const [path = ''] = url.split('?', 1);
  return (path.startsWith('/') ? path : path.replace(/^[a-z]+:\/\/[^/]*/i, ''))
    .split('/')
    .filter((raw) => raw !== '')
    .map((raw) => ({ raw, text: decode(raw) }));
};

/** The router refuses what cannot be decoded; errors of such addresses are worded by what can. */
const decode = (raw: string): string => {
  if (!raw.includes('%')) return raw;
  try {
    return decodeURIComponent(raw);
  } catch {
    return raw;
  }
};

interface Cut {
  readonly agent: string | undefined;
  readonly base: string;
  readonly rest: readonly Segment[];
}

const cutBase = (segments: readonly Segment[]): Cut => {
  const [first, second] = segments;
  if (first?.text === 'a2a') return { agent: undefined, base: '/a2a', rest: segments.slice(1) };
  if (first?.text === 'agents') return { agent: second?.text, base: '/agents/{name}', rest: segments.slice(2) };
  return { agent: undefined, base: '', rest: segments };
};

/** The routes of one path, taken apart. */
interface Place {
  readonly pattern: string;
  readonly steps: readonly string[];
  /** `:cancel`, or nothing. */
  readonly action: string;
  readonly routes: readonly RestRoute[];
}

type Found = Pick<RestAddress, 'routes' | 'named' | 'pattern'>;

/** Those with an action come first: what they do not want is a thing without one. */
const placesOf = (routes: readonly RestRoute[]): readonly Place[] =>
  [...Map.groupBy(routes, ({ path }) => path.replaceAll(PLACEHOLDER, '{}')).values()]
    .map((group): Place => {
      const pattern = requireOnePath(group);
      const action = /\}(:\w+)$/.exec(pattern)?.[1] ?? '';
      const steps = pattern.slice(1, pattern.length - action.length).split('/');
      return { pattern, steps, action, routes: group };
    })
    .toSorted((one, other) => other.action.length - one.action.length);

/** The path that all these routes have. */
const requireOnePath = (routes: readonly RestRoute[]): string => {
  const paths = new Set(routes.map(({ path }) => path));
  const verbs = new Set(routes.map(({ verb }) => verb));
  const [path = ''] = paths;
  const methods = routes.map(({ method }) => method).join(', ');
  if (paths.size > 1) {
    throw new SealaneError(
      'bad-config',
      `The addresses ${[...paths].join(' and ')} of the methods ${methods} differ only in names. Use the same names.`,
    );
  }
  if (verbs.size < routes.length) {
    throw new SealaneError(
      'bad-config',
      `The methods ${methods} cannot share the address ${path}: each needs an HTTP method of its own there.`,
    );
  }
  return path;
};

const findPlace = (places: readonly Place[], segments: readonly Segment[]): Found | undefined => {
  for (const { pattern, steps, action, routes } of places) {
    const named = steps.length === segments.length ? namesIn(steps, action, segments) : undefined;
    if (named) return { routes, named, pattern };
  }
  return undefined;
};

const namesIn = (
  steps: readonly string[],
  action: string,
  segments: readonly Segment[],
): Record<string, string> | undefined => {
  if (!segments.at(-1)?.raw.endsWith(action)) return undefined;
  const named: Record<string, string> = {};
  for (const [index, { text }] of segments.entries()) {
    const step = steps[index] ?? '';
    if (!step.startsWith('{')) {
      if (step !== text) return undefined;
    } else {
      const end = index === segments.length - 1 ? text.length - action.length : text.length;
      named[step.slice(1, -1)] = text.slice(0, end);
    }
  }
  return named;
};
