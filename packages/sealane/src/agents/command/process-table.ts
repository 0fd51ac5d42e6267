/** One live process, as a scan saw it. Zombies are dead and never appear. */
export interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** With the pid it names one process for as long as the machine is up. Comparable with `ProcessReader.now`. */
  readonly startTime: number;
  /** The environment it was started with; empty when it may not be read. */
  environ(): Promise<string>;
  /** The sockets it holds open, by inode number. */
  sockets(): Promise<ReadonlySet<string>>;
}

/** All processes at about one moment. */
export interface ProcessTable {
  readonly rows: ReadonlyMap<number, ProcessRow>;
  /** Processes came or went while the table was read, so it may have missed the child of one that left. */
  readonly isBlurred: boolean;
}

/** How the operating system is asked about processes. */
export interface ProcessReader {
  read(): Promise<ProcessTable>;
  /** The start time that a process started now would have. */
  now(): Promise<number>;
  /** Names one boot of this machine: pids and start times of another boot mean nothing. */
  bootId(): Promise<string>;
  /** The last look before a signal is sent. `undefined`: gone, or too dear to ask. */
  startTimeOf(pid: number): number | undefined;
}
