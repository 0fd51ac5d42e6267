import type { Permission } from '#agents';
import { SealaneError } from '#domain';

export interface NewKey {
  readonly name: string;
  /** Whose tasks it sees; by default a user named like the key. */
  readonly owner?: string;
  readonly admin?: boolean;
  readonly agents?: readonly string[] | null;
  readonly permission?: Permission;
  readonly ratePerMinute?: number | null;
  readonly expiresInMs?: number | null;
}

/** Whose tasks are those of the operator's own key. */
export const OPERATOR_OWNER = 'admin';

/** The same names as in the configuration, without those that look like a key's id. */
const NAME = /^(?!key_)[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/**
 * What a key may do when its maker does not say. `agent-default`, the rights that the agent has anyway, is never a
 * default: it belongs to the operator's own key.
 */
export const DEFAULT_PERMISSION: Permission = 'guarded';

/** A hundred years; the end of a key must be an instant that can be written as a date. */
const LONGEST_MS = 100 * 365 * 86_400_000;

const PERMISSIONS: readonly Permission[] = ['read-only', 'guarded', 'workspace', 'agent-default'];

/** What others than the operator can be given. */
const GIVEN = PERMISSIONS.filter((level) => level !== 'agent-default');

/** A word that this version does not know must not grant more than the least. */
export const permissionOf = (word: string): Permission => PERMISSIONS.find((known) => known === word) ?? 'read-only';

/** Refuses a key that would not mean what its maker thinks. */
export const checkNewKey = (key: NewKey): void => {
  const refuse = (field: string, message: string): never => {
    throw new SealaneError('invalid-params', message, { facts: { field } });
  };
  if (!NAME.test(key.name)) {
    refuse('name', 'A key\'s name is at most 64 letters, digits, ".", "_" or "-", and does not start with "key_".');
  }
  if (key.name === OPERATOR_OWNER && key.owner === undefined) {
    refuse('name', `"${OPERATOR_OWNER}" is the operator: choose another name, or name the owner of the key.`);
  }
  const { owner } = key;
  if (owner !== undefined && (owner === '' || owner.length > 128 || /[\p{Cc}\p{Cs}]/u.test(owner))) {
    refuse('owner', 'An owner is 1 to 128 characters without control characters.');
  }
  if (key.agents?.length === 0) refuse('agents', 'Name at least one agent, or leave agents out for all of them.');
  if (key.permission !== undefined && !PERMISSIONS.includes(key.permission)) {
    refuse('permission', `A permission is one of ${PERMISSIONS.join(', ')}.`);
  }
  if (key.permission === 'agent-default' && owner !== OPERATOR_OWNER) {
    refuse(
      'permission',
      `agent-default is all that the agent may do, so only the operator's own keys have it: choose ${GIVEN.join(', ')}, or name "${OPERATOR_OWNER}" as the owner.`,
    );
  }
  if (key.ratePerMinute != null && !(Number.isSafeInteger(key.ratePerMinute) && key.ratePerMinute >= 1)) {
    refuse('ratePerMinute', 'A rate is a whole number of requests a minute, at least 1.');
  }
  const { expiresInMs } = key;
  if (expiresInMs != null && !(Number.isSafeInteger(expiresInMs) && expiresInMs >= 1)) {
    refuse('expiresInMs', 'expiresInMs is a whole number of milliseconds, at least 1.');
  }
  if (expiresInMs != null && expiresInMs > LONGEST_MS) {
    refuse('expiresInMs', 'A key is valid for at most 100 years: leave expiresInMs out for one without an end.');
  }
};
