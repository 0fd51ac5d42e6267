import { join } from 'node:path';

const conditions = ['sealane:source', 'module', 'node', 'default'];

/** Every suite runs the sources, and not what was built of them. */
export const source = { resolve: { conditions }, ssr: { resolve: { conditions } } };

/** What will be so in a moment takes longer on a machine that has much to do. */
export const patient = { testTimeout: 60_000, hookTimeout: 60_000, expect: { poll: { timeout: 20_000 } } };

/**
 * Each service in a test has a thread, and Node strips its sources of their types by a WebAssembly module. A process that
 * has many such modules come and go crashes now and then (nodejs/node#64500). What was stripped once is kept here, so
 * threads start without it, and in half the time.
 */
process.env['NODE_COMPILE_CACHE'] ||= join(import.meta.dirname, 'node_modules', '.cache', 'sealane-sources');
