import { randomFillSync } from 'node:crypto';

/** Random bytes are fetched in bulk: one call to the system for many ids. */
const pool = Buffer.allocUnsafe(4096);
let used = pool.length;

let lastMs = 0;
let counter = 0;

const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/**
 * A UUID of version 7: it begins with the time, so ids that are made one after another lie side by side in an index,
 * which decides how fast they can be written. Within a millisecond a counter keeps them in order.
 */
export const newId = (now: () => number = Date.now): string => {
  if (used + 10 > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const at = used;
  used += 10;
  const ms = now();
  if (ms > lastMs) {
    lastMs = ms;
    counter = (pool[at] ?? 0) << 2;
  } else if (++counter > 0xfff) {
    // More than four thousand in a millisecond, or the clock went back: borrow the next one.
    lastMs += 1;
    counter = (pool[at] ?? 0) << 2;
  }
  const time = lastMs.toString(16).padStart(12, '0');
  const rest = (offset: number): string => hex[pool[at + offset] ?? 0] ?? '';
  const variant = hex[0x80 | ((pool[at + 1] ?? 0) & 0x3f)] ?? '';
  return `${time.slice(0, 8)}-${time.slice(8)}-7${counter.toString(16).padStart(3, '0')}-${variant}${rest(2)}-${rest(3)}${rest(4)}${rest(5)}${rest(6)}${rest(7)}${rest(8)}`;
};
