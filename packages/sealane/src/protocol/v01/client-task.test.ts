import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { SealaneError } from '#domain';
import type { Caller } from '#engine';

import { nameTask, taskIdOf } from './client-task.ts';

const caller = (more: Partial<Caller> = {}): Caller => ({
  owner: 'o',
  keyId: 'k',
  admin: false,
  agents: null,
  permission: 'guarded',
  tenant: '',
  ...more,
});

describe('the id of a task that its caller has named', () => {
  it('is a UUID that follows from owner, tenant, address and name, and from nothing else', () => {
    expect(taskIdOf(caller(), 'task-1')).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    expect(taskIdOf(caller({ keyId: 'other', admin: true }), 'task-1')).toBe(taskIdOf(caller(), 'task-1'));
  });

  it('is another one for any other of them, however they are cut', () => {
    const text = fc.string({ maxLength: 4, unit: fc.constantFrom('a', 'b', '"', ',', '/', '\ud800') });
    const facts = fc.record({ owner: text, tenant: text, agent: fc.option(text, { nil: undefined }), name: text });
    const idOf = ({ owner, tenant, agent, name }: { owner: string; tenant: string; agent?: string; name: string }) =>
      taskIdOf(caller({ owner, tenant, ...(agent !== undefined && { agent }) }), name);
    fc.assert(
      fc.property(facts, facts, (one, two) => {
        expect(idOf(one as never) === idOf(two as never)).toBe(JSON.stringify(one) === JSON.stringify(two));
      }),
    );
  });
});

describe('refusals', () => {
  it('call the task by its name, and keep all else', () => {
    const refusal = new SealaneError('lane-full', 'Task "uuid" must wait.', {
      retryAfterMs: 5,
      facts: { taskId: 'uuid', limit: 'l' },
    });
    expect(nameTask(refusal, 'uuid', '$& mine')).toMatchObject({
      code: 'lane-full',
      message: 'Task "$& mine" must wait.',
      retryAfterMs: 5,
      facts: { taskId: '$& mine', limit: 'l' },
    });
    const bug = new TypeError('uuid');
    expect(nameTask(bug, 'uuid', 'mine')).toBe(bug);
  });
});
