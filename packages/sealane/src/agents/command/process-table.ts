/** Which process: a pid alone may have had several owners. */
export interface ProcessName {
  readonly pid: number;
  /** With the pid it names one process for as long as the machine is up. Comparable with `ProcessReader.now`. */
  readonly startTime: number;
}

/** One live process, as a scan saw it. */
export interface ProcessRow extends ProcessName {
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** The environment it was started with; empty when it may not be read. */
  environ(): Promise<string>;
  /** The sockets it holds open, by inode number. */
  sockets(): Promise<ReadonlySet<string>>;
}

/** All processes at about one moment. */
export interface ProcessTable {
  readonly rows: ReadonlyMap<number, ProcessRow>;
  /** Processes that have ended and wait for their parents to notice. */
  readonly zombies: readonly ProcessName[];
  /**
   * Somebody left, or was in the middle of an exec, while the table was read or a row was asked. Whoever left may have
   * started another process that the table does not show.
   */
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
