import type { SettingPath } from './parse-yaml.ts';

/** Settings that hold a secret by their name, and everything in the environment of a command. */
export const isSecretSetting = (path: SettingPath): boolean =>
  /(key|token|secret|password|credentials?|authorization)$/i.test(String(path.at(-1))) ||
  (path[0] === 'agents' && path[2] === 'env');

/**
 * `postgres://me:secret@host/db` → `postgres://me:(hidden)@host/db`. People forget to encode what stands in a password,
 * so it goes to the last @; rather too much is hidden than too little.
 */
export const maskPassword = (text: string): string =>
  text
    .replace(/^([a-z][a-z0-9+.-]*:\/\/[^:@/?#]*:).*(@)/is, '$1(hidden)$2')
    .replace(/([?&](?:ssl)?password=)[^&]*/gi, '$1(hidden)');
