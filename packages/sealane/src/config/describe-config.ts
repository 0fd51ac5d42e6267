import { isRecord } from './config-file.ts';
import type { SettingPath } from './parse-yaml.ts';
import type { LoadedConfig, Source } from './load-config.ts';
import { isSecretSetting, maskPassword } from './secret-settings.ts';

export interface SettingView {
  readonly setting: string;
  /** As it is, or hidden when it is a secret. */
  readonly value: unknown;
  readonly source: Source;
}

/** Every setting with its value and where that came from; safe to paste into a bug report. */
export const describeConfig = (loaded: LoadedConfig): readonly SettingView[] => {
  const views: SettingView[] = [];
  const visit = (value: unknown, path: SettingPath): void => {
    if (isRecord(value) && Object.keys(value).length > 0) {
      for (const [key, item] of Object.entries(value)) visit(item, [...path, key]);
      return;
    }
    if (value !== undefined)
      views.push({ setting: path.join('.'), value: mask(value, path, loaded), source: loaded.sourceOf(path) });
  };
  visit(loaded.config, []);
  return views;
};

const mask = (value: unknown, path: SettingPath, loaded: LoadedConfig): unknown => {
  const borrowed = loaded.borrowedFrom(path);
  if (borrowed !== undefined) return `(hidden, from ${borrowed})`;
  if (isSecretSetting(path)) return '(hidden)';
  if (Array.isArray(value)) return value.map((item, index) => mask(item, [...path, index], loaded));
  return typeof value === 'string' ? maskPassword(value) : value;
};
