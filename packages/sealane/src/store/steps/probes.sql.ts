import { sql } from './step.ts';

export const ADD_TO_PROBE = sql<{ amount: number }>(`
  INSERT INTO probes (key, amount) VALUES (?, ?)
  ON CONFLICT (key) DO UPDATE SET amount = probes.amount + excluded.amount RETURNING amount`);
export const TAKE_FROM_PROBE = sql<{ k: number }>(`
  UPDATE probes SET amount = amount - ? WHERE key = ? AND amount >= ? {changed}`);
/** Locks the row against changes: a plain read would race with a change that was acknowledged. */
export const PROBE_AMOUNT = sql<{ amount: number }>(`SELECT amount FROM probes WHERE key = ? {share-lock}`);
