import { describe, expect, it } from 'vitest';

import { SealaneError } from '#domain';

import { isTaskStore, missingMembers, requireTaskStore } from './is-task-store.ts';
import { openSqlite } from './sqlite/index.ts';

describe('isTaskStore', () => {
  it('knows a store that has every member of the port', async () => {
    await using storage = await openSqlite({ file: ':memory:' });
    expect(isTaskStore(storage.tasks)).toBe(true);
    expect(missingMembers(storage.tasks)).toEqual([]);
    expect(requireTaskStore(storage.tasks)).toBe(storage.tasks);
  });

  it('takes members from wherever they come: a wrapper, a class, a prototype', async () => {
    await using storage = await openSqlite({ file: ':memory:' });
    expect(isTaskStore(Object.create(storage.tasks))).toBe(true);
    expect(isTaskStore(new Proxy(storage.tasks, {}))).toBe(true);
  });

  it.each([undefined, null, 0, 'store', [], {}, () => {}])('refuses %j', (value) => {
    expect(isTaskStore(value)).toBe(false);
  });

  it('misses every single member, and a member of another type as well', async () => {
    await using storage = await openSqlite({ file: ':memory:' });
    for (const name of Object.keys(storage.tasks)) {
      for (const value of [undefined, 'text']) {
        const broken = { ...storage.tasks, [name]: value };
        expect(isTaskStore(broken)).toBe(false);
        expect(missingMembers(broken)).toEqual([name === 'exclusive' ? name : `${name}()`]);
      }
    }
  });

  it('tells in one sentence what is missing and what to do', async () => {
    await using storage = await openSqlite({ file: ':memory:' });
    const half = { ...storage.tasks, admit: undefined, onWake: undefined };
    try {
      requireTaskStore(half);
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(SealaneError);
      expect(error).toMatchObject({ code: 'bad-config', facts: { missing: 'admit(), onWake()' } });
      expect((error as SealaneError).message).toContain(
        'it lacks admit(), onWake(). Implement the port in sealane/store',
      );
    }
  });
});
