import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import type { ProcessReader, ProcessRow } from './process-table.ts';

const run = promisify(execFile);

const COLUMNS = 'pid=,ppid=,pgid=,sess=,stat=,lstart=,command=';
const LINE = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S+)\s+(\w+\s+\w+\s+\d+\s+[\d:]+\s+\d+)\s?(.*)$/;
/** Long environments of many processes. */
const MAX_BYTES = 256 * 1024 * 1024;

/**
 * Reads processes with `ps`, for systems without /proc. Start times have a resolution of a second, sockets are unknown,
 * and the system hides the environment of its own programs: there the tree is found by its parents and groups.
 */
export const createPsReader = (platform: NodeJS.Platform = process.platform): ProcessReader => ({
  read: async () => {
    // The environment follows the command: `-E` on macOS, a bare `e` elsewhere.
    const flags = platform === 'darwin' ? ['-axEww'] : ['axeww'];
    const { stdout } = await run('ps', [...flags, '-o', COLUMNS], {
      maxBuffer: MAX_BYTES,
      env: { PATH: '/bin:/usr/bin', LC_ALL: 'C', ...(process.env['TZ'] !== undefined && { TZ: process.env['TZ'] }) },
    });
    const rows = new Map<number, ProcessRow>();
    for (const line of stdout.split('\n')) {
      const row = rowOf(line);
      if (row) rows.set(row.pid, row);
    }
    return { rows, zombies: [], isBlurred: false };
  },
  // Start times are cut to the second, and some systems add them to a boot time that is cut as well.
  now: () => Promise.resolve(Date.now() - 2000),
  bootId: async () => {
    const { stdout } = await run('sysctl', ['-n', 'kern.bootsessionuuid'], {
      env: { PATH: '/usr/sbin:/sbin:/usr/bin' },
    });
    return stdout.trim();
  },
  // Another `ps` would cost more time than has passed since the last one.
  startTimeOf: () => undefined,
});

const rowOf = (line: string): ProcessRow | undefined => {
  const [, pid, parent, group, session, state = '', started = '', command = ''] = LINE.exec(line) ?? [];
  if (pid === undefined || state.startsWith('Z')) return undefined;
  return {
    pid: Number(pid),
    parent: Number(parent),
    group: Number(group),
    // macOS shows an address, or 0: no use.
    session: /^\d+$/.test(session ?? '') ? Number(session) : 0,
    startTime: Date.parse(started),
    environ: () => Promise.resolve(command),
    sockets: () => Promise.resolve(new Set()),
  };
};
