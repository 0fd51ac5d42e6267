/** What was done to processes, and when: the only excuses that a run may have. */
export interface Disturbances {
  killed(pid: number, at: number): void;
  paused(pid: number, from: number, to: number): void;
  /** The line from a process to its database was dead for a while. */
  cutOff(pid: number, from: number, to: number): void;
  killTime(pid: number): number | undefined;
  pausesOf(pid: number): readonly Span[];
  /** True: something was done to this process, so its runs may have been interrupted. */
  touched(pid: number): boolean;
  readonly any: boolean;
}

export interface Span {
  readonly from: number;
  readonly to: number;
}

export const createDisturbances = (): Disturbances => {
  const kills = new Map<number, number>();
  const pauses = new Map<number, Span[]>();
  const cuts = new Map<number, Span[]>();
  const add = (spans: Map<number, Span[]>, pid: number, span: Span): void => {
    spans.set(pid, [...(spans.get(pid) ?? []), span]);
  };
  return {
    killed: (pid, at) => kills.set(pid, at),
    paused: (pid, from, to) => add(pauses, pid, { from, to }),
    cutOff: (pid, from, to) => add(cuts, pid, { from, to }),
    killTime: (pid) => kills.get(pid),
    pausesOf: (pid) => pauses.get(pid) ?? [],
    touched: (pid) => kills.has(pid) || pauses.has(pid) || cuts.has(pid),
    get any() {
      return kills.size + pauses.size + cuts.size > 0;
    },
  };
};
