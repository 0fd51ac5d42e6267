import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

import { z } from 'zod';

import { PLUGIN_ID } from '../settings.ts';
import type { ConfigDraft } from './commands-api.ts';

/** What stood in OpenClaw's configuration before `import`; null is nothing. It holds no secret. */
const recordShape = z.object({
  at: z.string(),
  channelEnabled: z.boolean().nullable(),
  takeOverChannel: z.boolean().nullable(),
  /** The plugin had settings of its own. */
  hadSettings: z.boolean(),
  /** The plugin had an entry. */
  hadEntry: z.boolean(),
});

export type ImportRecord = z.output<typeof recordShape>;

export const findRecord = (file: string): ImportRecord | undefined => {
  try {
    return recordShape.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return undefined;
  }
};

export const writeRecord = (file: string, record: ImportRecord): void => {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(file, `${JSON.stringify(record, undefined, 2)}\n`, { mode: 0o600 });
};

export const removeRecord = (file: string): void => rmSync(file, { force: true });

/** Changes the configuration for the takeover, and tells what stood there. */
export const takeOver = (draft: ConfigDraft, now: Date): ImportRecord => {
  const channel = draft.channels?.a2a ?? {};
  draft.plugins ??= {};
  draft.plugins.entries ??= {};
  const entry = draft.plugins.entries[PLUGIN_ID];
  const before = entry?.config?.['takeOverChannel'];
  const record: ImportRecord = {
    at: now.toISOString(),
    channelEnabled: channel.enabled ?? null,
    takeOverChannel: typeof before === 'boolean' ? before : null,
    hadSettings: entry?.config !== undefined,
    hadEntry: entry !== undefined,
  };
  channel.enabled = false;
  draft.plugins.entries[PLUGIN_ID] = { ...entry, config: { ...entry?.config, takeOverChannel: true } };
  return record;
};

/** Puts back what stood there, and nothing else: whatever was changed since then stays changed. */
export const giveBack = (draft: ConfigDraft, record: ImportRecord | undefined): void => {
  const channel = draft.channels?.a2a;
  if (channel) {
    if (record?.channelEnabled === null) delete channel.enabled;
    else channel.enabled = record?.channelEnabled ?? true;
  }
  const entry = draft.plugins?.entries?.[PLUGIN_ID];
  if (!entry?.config) return;
  const { takeOverChannel: _taken, ...others } = entry.config;
  const before = record?.takeOverChannel ?? null;
  entry.config = { ...others, ...(before !== null && { takeOverChannel: before }) };
  if (Object.keys(entry.config).length === 0 && record?.hadSettings !== true) delete entry.config;
  if (Object.keys(entry).length === 0 && record?.hadEntry === false) delete draft.plugins?.entries?.[PLUGIN_ID];
};
