import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';

/** The process that listens on a port of this machine, where the system tells: Linux, and processes of this user. */
export const findPortHolder = (port: number): string | undefined => {
  try {
    const sockets = new Set(['/proc/net/tcp', '/proc/net/tcp6'].flatMap((table) => listeningSockets(table, port)));
    if (sockets.size === 0) return undefined;
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      if (openFiles(pid).some((file) => sockets.has(file))) return `${programOf(pid)} (process ${pid})`;
    }
  } catch {
    // Another system, or a process that went away while we looked.
  }
  return undefined;
};

/** By the file it was started from: what a process calls itself may be the name of a thread (Node: MainThread). */
const programOf = (pid: string): string => {
  const [file = ''] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  return basename(file) || readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
};

const LISTENING = '0A';

const listeningSockets = (table: string, port: number): readonly string[] => {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return readFileSync(table, 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => local?.endsWith(suffix) && state === LISTENING)
    .map((columns) => `socket:[${columns[9]}]`);
};

const openFiles = (pid: string): readonly string[] => {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((fd) => {
      try {
        return readlinkSync(`/proc/${pid}/fd/${fd}`);
      } catch {
        return '';
      }
    });
  } catch {
    return [];
  }
};
