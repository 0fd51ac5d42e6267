import { describe, expect, it } from 'vitest';

import type { ConfigDraft } from './commands-api.ts';
import { giveBack, takeOver } from './import-record.ts';

const PEERS: object = { peers: { ann: { token: '${TOKEN}' } } };

/** Configurations as they may be before. */
const BEFORE: readonly ConfigDraft[] = [
  {
    channels: { a2a: { ...PEERS, enabled: true } },
    plugins: { entries: { 'a2a-tasks': { config: { agents: ['x'] } } } },
  },
  { channels: { a2a: { ...PEERS } }, plugins: { entries: { 'a2a-tasks': { config: {} } } } },
  { channels: { a2a: { ...PEERS, enabled: false } }, plugins: { entries: { 'a2a-tasks': {} } } },
  { channels: { a2a: PEERS }, plugins: { entries: { 'a2a-tasks': { config: { takeOverChannel: false } } } } },
  { channels: { a2a: PEERS }, plugins: { entries: {} } },
];

describe('import and its undo', () => {
  it.each(BEFORE)('switch two settings and put back exactly what was there: %j', (before) => {
    const draft = structuredClone(before);
    const record = takeOver(draft, new Date(0));
    expect(draft).toMatchObject({
      channels: { a2a: { ...PEERS, enabled: false } },
      plugins: { entries: { 'a2a-tasks': { config: { takeOverChannel: true } } } },
    });
    giveBack(draft, JSON.parse(JSON.stringify(record)) as typeof record);
    expect(draft).toEqual(before);
  });

  it('leave what was changed in between, and work without a record', () => {
    const draft: ConfigDraft = structuredClone(BEFORE[0] ?? {});
    takeOver(draft, new Date(0));
    Object.assign(draft.plugins?.entries?.['a2a-tasks']?.config ?? {}, { concurrency: 3 });
    giveBack(draft, undefined);
    expect(draft.channels?.a2a?.enabled).toBe(true);
    expect(draft.plugins?.entries?.['a2a-tasks']).toEqual({ config: { agents: ['x'], concurrency: 3 } });
  });
});
