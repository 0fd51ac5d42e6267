import type { Admission } from '../task-store.ts';

/** A message to the agent `a`, in a lane of its own. */
export const admission = (id: string): Admission => ({
  id,
  contextId: id,
  owner: 'o',
  tenant: '',
  agent: 'a',
  dialect: '1.0',
  session: id,
  direct: false,
  message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: id }] },
  metadata: {},
  call: { permission: 'write' },
  at: 1,
  limits: { laneWaiting: 10_000, ownerWaiting: 0 },
});
