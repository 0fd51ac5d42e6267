import { hash } from 'node:crypto';

import { SealaneError } from '#domain';
import type { Caller, TaskService } from '#engine';
import type { TaskFacts } from '#store';

import type { CallContext } from '../dialect.ts';
import { isObject, MAX_ID_LENGTH } from '../field-reader.ts';
import { callerOf } from '../send-request.ts';

/**
 * In 0.1 callers name their tasks. Such a name stands for a task id that follows from it, so that nothing has to
 * remember which name means what, and callers who choose the same name do not meet. An agent's own address is a server
 * of its own to its callers: some of them give the same name to work that they share out between agents.
 */
export const taskIdOf = ({ owner, tenant, agent }: Caller, name: string): string =>
  uuidOf(['task', owner, tenant, agent ?? null, name]);

/** A UUID that says only what it was made of: version 8 of RFC 9562, out of a SHA-256. */
export const uuidOf = (facts: readonly (string | null)[]): string => {
  const bytes = hash('sha256', JSON.stringify(facts), 'buffer');
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`;
};

/** The task that a caller has given this name. */
export const findNamed = async (service: TaskService, caller: Caller, name: string): Promise<TaskFacts | undefined> => {
  try {
    return await service.peek(caller, taskIdOf(caller, name));
  } catch (error) {
    if (error instanceof SealaneError && error.code === 'task-not-found') return undefined;
    throw error;
  }
};

/** Whether a call is about a task that its caller has named: such callers speak 0.1. */
export const isAboutNamed = async (service: TaskService, params: unknown, context: CallContext): Promise<boolean> => {
  const name = isObject(params) ? params['id'] : undefined;
  if (typeof name !== 'string' || name === '' || name.length > MAX_ID_LENGTH) return false;
  return (await findNamed(service, callerOf(context, undefined), name)) !== undefined;
};

/** A refusal in the words of a caller who knows the task by its name. */
export const nameTask = (refusal: unknown, taskId: string, name: string): unknown => {
  if (!(refusal instanceof SealaneError) || taskId === name) return refusal;
  const { code, message, cause, retryAfterMs, facts, forCallers } = refusal;
  return new SealaneError(
    code,
    message.replaceAll(taskId, () => name),
    {
      cause,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
      ...(forCallers !== undefined && { forCallers }),
      facts: Object.fromEntries(Object.entries(facts).map(([key, fact]) => [key, fact === taskId ? name : fact])),
    },
  );
};
