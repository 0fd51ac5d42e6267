import { sql } from './step.ts';

export interface WebhookRow {
  readonly id: string;
  readonly config: string;
  readonly status: 'active' | 'failed';
}

export const WEBHOOKS = sql<WebhookRow>(`SELECT id, config, status FROM push_configs WHERE task = ? ORDER BY id`);
export const WEBHOOK = sql<WebhookRow>(`SELECT id, config, status FROM push_configs WHERE task = ? AND id = ?`);
export const SAVE_WEBHOOK = sql(`
  INSERT INTO push_configs (task, id, config, silent, status) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (task, id) DO UPDATE SET config = excluded.config, silent = excluded.silent, status = excluded.status`);
export const SET_WEBHOOK_STATUS = sql(`UPDATE push_configs SET status = ? WHERE task = ? AND id = ?`);
export const DELETE_WEBHOOK = sql<{ id: string }>(`DELETE FROM push_configs WHERE task = ? AND id = ? RETURNING id`);
export const DELETE_WEBHOOKS = sql(`DELETE FROM push_configs WHERE task = ?`);
