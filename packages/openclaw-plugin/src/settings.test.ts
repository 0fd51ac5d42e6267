import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';
import { z } from 'zod';

import { readSettings, settingsSchema } from './settings.ts';

const configOf = (config: unknown): object => ({ plugins: { entries: { 'a2a-tasks': { enabled: true, config } } } });

describe('the settings of the plugin', () => {
  it('are the ones by which OpenClaw checks its configuration', () => {
    const manifest = JSON.parse(readFileSync(new URL('../openclaw.plugin.json', import.meta.url), 'utf8')) as {
      readonly configSchema: unknown;
    };
    const { $schema: _, ...schema } = z.toJSONSchema(settingsSchema, { io: 'input' });
    expect(manifest.configSchema).toEqual(schema);
  });

  it('have a value where nothing is written', () => {
    expect(readSettings({})).toEqual({
      agents: ['main'],
      publicCard: false,
      concurrency: 8,
      ratePerMinute: 600,
      allowPrivateWebhooks: false,
      takeOverChannel: false,
      tasks: { ttlDays: 7, timeoutMinutes: 30, waitSeconds: 600 },
      isLoopback: true,
    });
  });

  it('say what is not right', () => {
    expect(() => readSettings(configOf({ tasks: { ttlDays: -1 } }))).toThrow(/ttlDays/);
    expect(() => readSettings(configOf({ task: {} }))).toThrow(/"task"/);
  });

  it('serve the default agent of OpenClaw, or those that are named', () => {
    const entries = { helper: {}, boss: { default: true } };
    expect(readSettings({ agents: { entries } }).agents).toEqual(['boss']);
    const defaults = { systemAgent: { agentId: 'Boss' } };
    expect(readSettings({ agents: { defaults, entries: { helper: {}, boss: {} } } }).agents).toEqual(['boss']);
    expect(readSettings({ agents: { list: [{ id: 'first' }, { id: 'second' }] } }).agents).toEqual(['first']);
    expect(readSettings({ agents: { entries }, ...configOf({ agents: ['helper'] }) }).agents).toEqual(['helper']);
    expect(() => readSettings({ agents: { entries }, ...configOf({ agents: ['boss', 'x'] }) })).toThrow(
      'names x, and OpenClaw has only boss, helper',
    );
  });

  it('tell a Gateway that only this machine reaches from others', () => {
    expect(readSettings({ gateway: { bind: 'lan' } }).isLoopback).toBe(false);
    expect(readSettings({ gateway: { port: 1 } }).isLoopback).toBe(true);
  });
});
