import { SET_WEBHOOK_STATUS } from '../webhooks.sql.ts';
import { first } from '../step.ts';
import type { FollowerSteps } from './follower-kind.ts';

/** A webhook stores the outcome of its last delivery. The delivery itself is in `push/`. */
export const webhook: FollowerSteps<'webhook'> = {
  *apply(target, { status }) {
    const { task, id } = webhookAt(target);
    yield* first(SET_WEBHOOK_STATUS, status, task, id);
    return null;
  },
};

/** Ids of webhooks are unique only within their task, so a target names both. */
export const webhookTarget = (task: number, id: string): string => `${task}/${id}`;

export const webhookAt = (target: string): { readonly task: number; readonly id: string } => {
  const slash = target.indexOf('/');
  return { task: Number(target.slice(0, slash)), id: target.slice(slash + 1) };
};
