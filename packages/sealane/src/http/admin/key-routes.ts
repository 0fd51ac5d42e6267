import { SealaneError } from '#domain';
import type { NewKey } from '#identity';
import { type Fields, findFlag, findId, findInteger, findTexts, invalid } from '#protocol';
import type { KeyRecord } from '#store';

import { holderOf } from '../access.ts';
import { bodyOf, isoOf, paramOf } from './admin-request.ts';
import type { AdminScope } from './admin-scope.ts';

export const addKeyRoutes = ({ add, send, deps }: AdminScope): void => {
  const { keys, registry } = deps;

  add('/keys', {
    GET: async (request, reply) => {
      send(request, reply, 200, JSON.stringify({ keys: (await keys.list()).map(viewOf) }));
    },
    POST: async (request, reply) => {
      const wanted = newKeyOf(bodyOf(request));
      // A key for an agent that does not exist is a typing error, found out here and not at its first use.
      for (const agent of wanted.agents ?? []) registry.require(agent);
      const { record, secret } = await keys.create(wanted, holderOf(request).keyId);
      send(request, reply, 201, JSON.stringify({ ...viewOf(record), key: secret }));
    },
  });

  add('/keys/:idOrName', {
    DELETE: async (request, reply) => {
      const idOrName = paramOf(request, 'idOrName');
      if (!(await keys.revoke(idOrName, holderOf(request).keyId))) {
        throw new SealaneError('not-found', `There is no key "${idOrName.slice(0, 128)}" that could be revoked.`);
      }
      send(request, reply, 204, '');
    },
  });
};

const MEMBERS = ['name', 'owner', 'admin', 'agents', 'permission', 'ratePerMinute', 'expiresInMs'];

const newKeyOf = (body: Fields): NewKey => {
  // A limit under another name would be no limit, and the key would be allowed more than its maker thinks.
  const unknown = Object.keys(body).find((member) => !MEMBERS.includes(member));
  if (unknown !== undefined) throw invalid(unknown.slice(0, 100), `is not known: a key has ${MEMBERS.join(', ')}.`);
  const name = findId(body['name'], 'name');
  if (name === undefined) throw invalid('name', 'is missing: how shall the key be called?');
  const owner = findId(body['owner'], 'owner');
  const admin = findFlag(body['admin'], 'admin');
  const agents = findTexts(body['agents'], 'agents');
  const permission = findId(body['permission'], 'permission');
  const ratePerMinute = findInteger(body['ratePerMinute'], 'ratePerMinute', 1, 1_000_000_000);
  const expiresInMs = findInteger(body['expiresInMs'], 'expiresInMs', 1, Number.MAX_SAFE_INTEGER);
  return {
    name,
    ...(owner !== undefined && { owner }),
    ...(admin !== undefined && { admin }),
    ...(agents !== undefined && { agents }),
    // Checked by `create`, which knows the words.
    ...(permission !== undefined && { permission: permission as NonNullable<NewKey['permission']> }),
    ...(ratePerMinute !== undefined && { ratePerMinute }),
    ...(expiresInMs !== undefined && { expiresInMs }),
  };
};

/** Never the hash. */
const viewOf = ({ hash: _hash, ...key }: KeyRecord): object => ({
  ...key,
  createdAt: isoOf(key.createdAt),
  expiresAt: isoOf(key.expiresAt),
  revokedAt: isoOf(key.revokedAt),
});
