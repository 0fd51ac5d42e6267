import { SealaneError } from '#domain';
import { type CardKeys, findFlag } from '#protocol';

import { holderOf } from '../access.ts';
import { bodyOf, isoOf } from './admin-request.ts';
import type { AdminScope } from './admin-scope.ts';

/** The keys that agent cards are signed with. */
export const addCardKeyRoutes = ({ add, send, deps }: AdminScope): void => {
  const { audit } = deps.storage;

  add('/card-keys', {
    GET: async (request, reply) => {
      const keys = (await requireCardKeys(deps.protocol.cards.keys).list()).map((key) => ({
        ...key,
        createdAt: isoOf(key.createdAt),
        retiredAt: isoOf(key.retiredAt),
      }));
      send(request, reply, 200, JSON.stringify({ keys }));
    },
  });

  add('/card-keys/rotate', {
    POST: async (request, reply) => {
      const body = request.body === undefined || request.body === '' ? {} : bodyOf(request);
      const forgetFormer = findFlag(body['forgetFormer'], 'forgetFormer') ?? false;
      const kid = await requireCardKeys(deps.protocol.cards.keys).rotate({ forgetFormer });
      const actor = holderOf(request).keyId;
      await audit.record({ at: deps.now(), kind: 'card-key-rotated', actor, subject: kid, facts: { forgetFormer } });
      send(request, reply, 200, JSON.stringify({ kid }));
    },
  });
};

const requireCardKeys = (keys: CardKeys | undefined): CardKeys => {
  if (keys) return keys;
  throw new SealaneError('conflict', 'The cards of this service are not signed: there are no keys to rotate.');
};
