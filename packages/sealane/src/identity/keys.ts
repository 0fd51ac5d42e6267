import { randomBytes, timingSafeEqual } from 'node:crypto';

import type { Permission } from '#agents';
import { SealaneError } from '#domain';
import type { Caller } from '#engine';
import type { AuditLog, KeyRecord, KeyStore } from '#store';

import { createExpiringCache } from './expiring-cache.ts';
import { createKeyAudit } from './key-audit.ts';
import { createKeySecret, findBearer, hashKeySecret } from './key-secret.ts';
import { checkNewKey, DEFAULT_PERMISSION, type NewKey, OPERATOR_OWNER, permissionOf } from './new-key.ts';

/** A caller, and how many requests a minute it may make; null is the service's default, `Infinity` no limit. */
export interface KeyHolder extends Caller {
  readonly ratePerMinute: number | null;
}

/** What the configuration says about keys of a name; it wins over what was said when the key was made. */
export interface KeyOverride {
  readonly agents?: readonly string[];
  readonly permission?: Permission;
  readonly ratePerMinute?: number;
}

/**
 * A key whose secret somebody else keeps, such as the configuration of the program that Sealane runs in. It is in no
 * store, so it is neither listed nor revoked here: it ends when it is no longer given.
 */
export interface GivenKey extends KeyOverride {
  readonly name: string;
  readonly owner: string;
  readonly secret: string;
}

export interface Keys {
  /**
   * Who holds the key of an `Authorization` header; undefined for everybody we do not know. What it answers may be
   * five seconds old: a key that another instance revoked works no longer than that.
   */
  authenticate(authorization: string | undefined): Promise<KeyHolder | undefined>;
  /**
   * Calls `onEnd` when the key of an `Authorization` header is revoked or expires, which it may learn five seconds
   * late: for answers that take longer than that. May call it again until it is disposed of.
   */
  watch(authorization: string | undefined, onEnd: () => void): Disposable;
  /** The holder of a key was refused what the key does not allow: for the audit. */
  noteForbidden(keyId: string): void;
  /** Makes a key; `secret` is shown here and never again. A taken name is a `conflict`. */
  create(key: NewKey, actor: string): Promise<{ readonly record: KeyRecord; readonly secret: string }>;
  list(): Promise<readonly KeyRecord[]>;
  /** False: no such key, or already revoked. */
  revoke(idOrName: string, actor: string): Promise<boolean>;
  /** What the configuration says about keys has changed: ask again at the next call. */
  forget(): void;
}

export interface KeysOptions {
  readonly keys: KeyStore;
  readonly audit: AuditLog;
  readonly now: () => number;
  /** The operator's own key: it is in no store, has every right and no rate limit. */
  readonly adminKey?: string;
  readonly given?: readonly GivenKey[];
  readonly overrides?: (name: string) => KeyOverride | undefined;
  /** A refusal that could not be recorded must not become an answer to the caller. */
  readonly onAuditError?: (error: unknown) => void;
  readonly random?: (bytes: number) => Buffer;
}

export const OPERATOR_KEY_ID = 'admin';

const FRESH_MS = 5000;
const KNOWN_CAPACITY = 10_000;
const UNKNOWN_CAPACITY = 1000;

const OPERATOR: KeyHolder = {
  owner: OPERATOR_OWNER,
  keyId: OPERATOR_KEY_ID,
  admin: true,
  agents: null,
  permission: 'agent-default',
  tenant: '',
  ratePerMinute: Infinity,
};

export const createKeys = (options: KeysOptions): Keys => {
  const { keys, audit, now, adminKey, overrides, random = randomBytes } = options;
  if (adminKey === '') throw new SealaneError('bad-config', 'The admin key is empty: give one, or leave it out.');
  if (adminKey !== undefined) checkSendable(adminKey, 'The admin key');
  const operatorHash = adminKey === undefined ? undefined : Buffer.from(hashKeySecret(adminKey));
  const given = new Map((options.given ?? []).map((key) => [hashKeySecret(key.secret), givenHolder(key)]));
  const known = createExpiringCache<KeyHolder>(KNOWN_CAPACITY);
  const unknown = createExpiringCache<true>(UNKNOWN_CAPACITY);
  const trace = createKeyAudit(audit, now, options.onAuditError ?? (() => undefined));
  // Lookups under way, so that a burst of calls with one new key reads the store once.
  const lookups = new Map<string, Promise<KeyHolder | undefined>>();
  const watchers = new Set<() => void>();
  // Counts local changes: a lookup that began before one must not fill the caches after it.
  let generation = 0;

  const forget = (): void => {
    generation += 1;
    known.clear();
    unknown.clear();
    lookups.clear();
    for (const look of watchers) look();
  };

  const lookUp = async (hash: string): Promise<KeyHolder | undefined> => {
    const began = generation;
    const record = await keys.findByHash(hash);
    const at = now();
    const refusal = refusalOf(record, at);
    if (record === undefined || refusal !== undefined) {
      trace.refused(record?.id ?? 'unknown', refusal ?? 'unknown', hash);
      if (began === generation) unknown.put(hash, true, at + FRESH_MS);
      return undefined;
    }
    trace.used(record.id);
    const holder = holderOf(record, overrides?.(record.name));
    if (began === generation) known.put(hash, holder, Math.min(at + FRESH_MS, record.expiresAt ?? Infinity));
    return holder;
  };

  const authenticate: Keys['authenticate'] = async (authorization) => {
    const secret = findBearer(authorization);
    if (secret === undefined) return undefined;
    const hash = hashKeySecret(secret);
    if (operatorHash !== undefined && timingSafeEqual(Buffer.from(hash), operatorHash)) return OPERATOR;
    const at = now();
    const holder = given.get(hash) ?? known.find(hash, at);
    if (holder !== undefined) return holder;
    if (unknown.find(hash, at) !== undefined) return undefined;
    let lookup = lookups.get(hash);
    if (lookup === undefined) {
      lookup = lookUp(hash).finally(() => {
        if (lookups.get(hash) === lookup) lookups.delete(hash);
      });
      lookups.set(hash, lookup);
    }
    return lookup;
  };

  return {
    authenticate,

    watch: (authorization, onEnd) => {
      const look = (): void => {
        // A store that is away says nothing about the key.
        authenticate(authorization).then(
          (holder) => holder ?? onEnd(),
          () => undefined,
        );
      };
      const timer = setInterval(look, FRESH_MS);
      timer.unref();
      watchers.add(look);
      return {
        [Symbol.dispose]: () => {
          clearInterval(timer);
          watchers.delete(look);
        },
      };
    },

    noteForbidden: (keyId) => trace.forbidden(keyId),

    create: async (key, actor) => {
      checkNewKey(key);
      const at = now();
      const secret = createKeySecret(random);
      const record: KeyRecord = {
        id: `key_${random(9).toString('base64url')}`,
        name: key.name,
        owner: key.owner ?? key.name,
        hash: hashKeySecret(secret),
        admin: key.admin ?? false,
        agents: key.agents ?? null,
        permission: key.permission ?? DEFAULT_PERMISSION,
        ratePerMinute: key.ratePerMinute ?? null,
        createdAt: at,
        expiresAt: key.expiresInMs == null ? null : at + key.expiresInMs,
        revokedAt: null,
      };
      if ((await keys.add(record)) === 'name-taken') {
        throw new SealaneError('conflict', `There is already a key "${key.name}": revoke it, or choose another name.`, {
          facts: { name: key.name },
        });
      }
      forget();
      const facts = { name: record.name, owner: record.owner, admin: record.admin, permission: record.permission };
      await audit.record({ at, kind: 'key-created', actor, subject: record.id, facts });
      return { record, secret };
    },

    forget,

    list: () => keys.list(),

    revoke: async (idOrName, actor) => {
      const at = now();
      const revoked = await keys.revoke(idOrName, at);
      forget();
      if (revoked) await audit.record({ at, kind: 'key-revoked', actor, subject: idOrName, facts: {} });
      return revoked;
    },
  };
};

const refusalOf = (record: KeyRecord | undefined, at: number): 'unknown' | 'revoked' | 'expired' | undefined => {
  if (record === undefined) return 'unknown';
  if (record.revokedAt !== null) return 'revoked';
  return record.expiresAt !== null && record.expiresAt <= at ? 'expired' : undefined;
};

/** Whatever a record or the configuration says, the agent's own rights are the operator's alone. */
const grantedTo = (owner: string, permission: Permission): Permission =>
  permission === 'agent-default' && owner !== OPERATOR_OWNER ? DEFAULT_PERMISSION : permission;

/** A key that is read otherwise than it was given would let nobody in, and nobody would know why. */
const checkSendable = (secret: string, what: string): void => {
  if (findBearer(`Bearer ${secret}`) === secret) return;
  throw new SealaneError(
    'bad-config',
    `${what} cannot be sent with a call: take at most 1017 characters, without white space around them.`,
  );
};

const givenHolder = (key: GivenKey): KeyHolder => {
  if (key.secret === '') throw new SealaneError('bad-config', `The key "${key.name}" has no secret.`);
  checkSendable(key.secret, `The key "${key.name}"`);
  return {
    owner: key.owner,
    keyId: `given:${key.name}`,
    admin: false,
    agents: key.agents ?? null,
    permission: grantedTo(key.owner, key.permission ?? DEFAULT_PERMISSION),
    tenant: '',
    ratePerMinute: key.ratePerMinute ?? null,
  };
};

const holderOf = (record: KeyRecord, override: KeyOverride | undefined): KeyHolder => ({
  owner: record.owner,
  keyId: record.id,
  admin: record.admin,
  agents: override?.agents ?? record.agents,
  permission: grantedTo(record.owner, override?.permission ?? permissionOf(record.permission)),
  tenant: '',
  ratePerMinute: override?.ratePerMinute ?? record.ratePerMinute,
});
