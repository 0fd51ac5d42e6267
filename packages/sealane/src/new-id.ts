import { randomFillSync } from 'node:crypto';

/** Random bytes are fetched in bulk: one call to the system for many ids. */
const pool = Buffer.allocUnsafe(4096);
let used = pool.length;

let lastMs = 0;
let counter = 0;
/** The part of an id that says when: the same for all of a millisecond. */
let time = '';

const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
const random = (at: number): string => hex[pool[at] ?? 0] ?? '';

const moveTo = (ms: number, firstRandom: number): void => {
  lastMs = ms;
  counter = firstRandom << 2;
  const text = ms.toString(16).padStart(12, '0');
  time = `${text.slice(0, 8)}-${text.slice(8)}-7`;
};

/**
 * A UUID of version 7: it begins with the time, so ids that are made one after another lie side by side in an index,
 * which decides how fast they can be written. Within a millisecond a counter keeps them in order.
 */
export const newId = (now: () => number = Date.now): string => {
  if (used + 9 > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const at = used;
  used += 9;
  const ms = now();
  if (ms > lastMs) moveTo(ms, pool[at] ?? 0);
  // More than four thousand in a millisecond, or the clock went back: borrow the next one.
  else if (++counter > 0xfff) moveTo(lastMs + 1, pool[at] ?? 0);
  const order = (hex[counter >> 8] ?? '').slice(1) + (hex[counter & 0xff] ?? '');
  const variant = hex[0x80 | ((pool[at + 1] ?? 0) & 0x3f)] ?? '';
  const tail = random(at + 3) + random(at + 4) + random(at + 5) + random(at + 6) + random(at + 7) + random(at + 8);
  return `${time}${order}-${variant}${random(at + 2)}-${tail}`;
};
