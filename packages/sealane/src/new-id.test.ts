import { expect, it } from 'vitest';

import { newId } from './new-id.ts';

const VERSION_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

it('ids are UUIDs of version 7, unique, and sort in the order in which they were made', () => {
  const ids = Array.from({ length: 20_000 }, () => newId());
  for (const id of ids) expect(id).toMatch(VERSION_7);
  expect(new Set(ids).size).toBe(ids.length);
  expect([...ids].sort()).toEqual(ids);
});

it('ids stay in order when the clock goes back', () => {
  const later = newId(() => Date.now() + 60_000);
  expect(newId() > later).toBe(true);
});
