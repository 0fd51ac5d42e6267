import { readFileSync, readdirSync } from 'node:fs';

/** What a system has used so far: all threads of its process, and its child processes. */
export interface Usage {
  readonly cpuMs: number;
  readonly rssBytes: number;
}

/** Linux reports CPU time in ticks of 1/100 s to user space, whatever the kernel's own clock is. */
const TICK_MS = 10;
const PAGE_BYTES = 4096;

interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  readonly cpuMs: number;
  readonly rssBytes: number;
}

/** `undefined` where there is no /proc: the numbers are then left out, and the rest is measured. */
export const usageOf = (pid: number): Usage | undefined => {
  if (process.platform !== 'linux') return undefined;
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readStat(name) ?? []);
  const family = new Set([pid]);
  // Children have been started after their parents, but pids wrap around: repeat until nobody is added.
  for (let size = 0; size !== family.size;) {
    size = family.size;
    for (const { pid, parent } of all) if (family.has(parent)) family.add(pid);
  }
  const members = all.filter((member) => family.has(member.pid));
  return {
    cpuMs: members.reduce((sum, member) => sum + member.cpuMs, 0),
    rssBytes: members.reduce((sum, member) => sum + member.rssBytes, 0),
  };
};

const readStat = (name: string): ProcessStat | undefined => {
  let text: string;
  try {
    text = readFileSync(`/proc/${name}/stat`, 'latin1');
  } catch {
    // It has ended since the directory was read.
    return undefined;
  }
  // The command's name is in brackets and may hold anything; the fields after it are numbered from 3.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const field = (number: number): number => Number(fields[number - 3]);
  return {
    pid: Number(name),
    parent: field(4),
    cpuMs: (field(14) + field(15)) * TICK_MS,
    rssBytes: field(24) * PAGE_BYTES,
  };
};
