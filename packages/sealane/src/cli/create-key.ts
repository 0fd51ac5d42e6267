import { InvalidArgumentError } from 'commander';

import { rateSchema } from '#config';

import type { ApiClient } from './api-client.ts';
import { CliError } from './cli-error.ts';

/** A key as the admin API shows it. */
export interface KeyView {
  readonly id: string;
  readonly name: string;
  readonly owner: string;
  readonly admin: boolean;
  readonly agents: readonly string[] | null;
  readonly permission: string;
  readonly ratePerMinute: number | null;
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
}

export interface WantedKey {
  readonly name: string;
  readonly owner?: string | undefined;
  readonly admin?: boolean | undefined;
  readonly agents?: readonly string[] | undefined;
  readonly permission?: string | undefined;
  readonly ratePerMinute?: number | undefined;
  readonly expiresInMs?: number | undefined;
}

/** Makes a key; `key` is the secret, and this answer is the only place where it is ever told. */
export const createKey = (client: ApiClient, wanted: WantedKey): Promise<KeyView & { readonly key: string }> =>
  client.post('/admin/keys', wanted, ['key', 'name']);

/** A failure to make a key; when its name was taken, with what frees it. */
export const nameTaken = (error: unknown, next: string): unknown =>
  error instanceof CliError && error.code === 'conflict'
    ? new CliError('conflict', error.message, { cause: error, next })
    : error;

export const PERMISSIONS = ['read-only', 'guarded', 'workspace', 'agent-default'];

export const knownPermission = (level: string): string => {
  if (!PERMISSIONS.includes(level)) throw new InvalidArgumentError(`It must be ${PERMISSIONS.join(', ')}.`);
  return level;
};

export const knownRate = (text: string): number => {
  const rate = rateSchema.safeParse(text);
  if (!rate.success) throw new InvalidArgumentError(`It ${rate.error.issues[0]?.message ?? 'is not a rate'}.`);
  return rate.data;
};

const DAY_MS = 86_400_000;

const UNIT_MS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: DAY_MS,
  y: 365 * DAY_MS,
};

/** `12h`, `30d` or `1y`, in milliseconds. */
export const lifetime = (text: string): number => {
  const [, count, unit = ''] = /^(\d+)([smhdy])$/.exec(text) ?? [];
  if (count === undefined || Number(count) === 0)
    throw new InvalidArgumentError('It must be a time like 90s, 15m, 12h, 30d or 1y.');
  return Number(count) * (UNIT_MS[unit] ?? 0);
};
