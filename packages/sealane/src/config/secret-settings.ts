import type { SettingPath } from './config-file.ts';

/** Settings that hold a secret by their name, and everything in the environment of a command. */
export const isSecretSetting = (path: SettingPath): boolean =>
  /(key|token|secret|password|credentials?|authorization)$/i.test(String(path.at(-1))) ||
  (path[0] === 'agents' && path[2] === 'env');

/** `postgres://me:secret@host/db` → `postgres://me:(hidden)@host/db` */
export const maskPassword = (text: string): string =>
  text.replace(/^([a-z][a-z0-9+.-]*:\/\/[^/?#]*?:)[^/?#]*(@)/i, '$1(hidden)$2');
