/** How long things may take and how big they may be. All are settings of the operator. */
export interface EngineSettings {
  /** Runs at the same time on this instance, over all agents. */
  readonly slots: number;
  readonly laneWaiting: number;
  /** Waiting turns and held runs per owner; 0 is no limit. */
  readonly ownerWaiting: number;
  readonly ownerRunning: number;
  /** How long a blocking call is held before it gets the task as it is. */
  readonly waitMs: number;
  /** How long a run may take to die after a cancel or a timeout; then its task ends marked as forced. */
  readonly cancelGraceMs: number;
  /** How long a lane is held for a run that nobody can confirm dead. */
  readonly quarantineMs: number;
  readonly queueTimeoutMs: number;
  readonly inputTimeoutMs: number;
  /** 0 keeps ended tasks for ever. */
  readonly ttlMs: number;
  readonly eventBytes: number;
  readonly artifactBytes: number;
  readonly taskBytes: number;
  readonly leaseMs: number;
  readonly renewMs: number;
  /** The slow poll behind hints that may be lost. */
  readonly pollMs: number;
  readonly janitorMs: number;
  /** How long a run that may be tried again waits first; doubled at each attempt. */
  readonly retryMs: number;
  /** How long runs may go on after a stop was asked for. */
  readonly drainMs: number;
}

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

export const DEFAULT_SETTINGS: EngineSettings = {
  slots: 256,
  laneWaiting: 9999,
  ownerWaiting: 0,
  ownerRunning: 0,
  waitMs: 10 * MINUTE,
  cancelGraceMs: 10_000,
  quarantineMs: 15 * MINUTE,
  queueTimeoutMs: DAY,
  inputTimeoutMs: 7 * DAY,
  ttlMs: 7 * DAY,
  eventBytes: 1024 * 1024,
  artifactBytes: 16 * 1024 * 1024,
  taskBytes: 64 * 1024 * 1024,
  leaseMs: 6000,
  renewMs: 2000,
  pollMs: 2000,
  janitorMs: 30_000,
  retryMs: 1000,
  drainMs: 10_000,
};
