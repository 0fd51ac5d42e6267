/**
 * Loaded into a server with `--import`: watches the event loop of its main thread. On SIGUSR2 it writes what it has
 * seen since the last time into `<SEALANE_BENCH_LOOP_DIR>/<pid>.json` and starts anew. The file is there from the
 * start, so that only processes with a probe are ever signalled.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

const dir = process.env['SEALANE_BENCH_LOOP_DIR'];

if (isMainThread && dir !== undefined) {
  const file = `${dir}/${process.pid}.json`;
  const delays = monitorEventLoopDelay({ resolution: 1 });
  let reports = 0;

  const report = () => {
    const ms = (nanoseconds) => nanoseconds / 1e6;
    const seen = {
      report: reports++,
      samples: delays.count,
      p50Ms: ms(delays.percentile(50)),
      p99Ms: ms(delays.percentile(99)),
      p999Ms: ms(delays.percentile(99.9)),
      maxMs: delays.count === 0 ? 0 : ms(delays.max),
    };
    writeFileSync(`${file}.new`, JSON.stringify(seen));
    renameSync(`${file}.new`, file);
    delays.reset();
  };

  delays.enable();
  process.on('SIGUSR2', report);
  report();
}
