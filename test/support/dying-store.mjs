import { existsSync } from 'node:fs';
import { isMainThread, workerData } from 'node:worker_threads';

// Loaded into every thread of a service by NODE_OPTIONS=--import. The thread of the store dies of an error that nobody
// catches, as it would of a bug, as soon as the file exists that the variable names.
const file = process.env['SEALANE_TEST_DIE'];
if (!isMainThread && workerData?.role === 'writer' && file !== undefined) {
  setInterval(() => {
    if (existsSync(file)) throw new Error('died on purpose');
  }, 10).unref();
}
