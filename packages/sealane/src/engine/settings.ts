import { SealaneError } from '#domain';

/** Limits of time and of size. All are settings of the operator. */
export interface EngineSettings {
  /** Concurrent runs of this instance, over all agents. */
  readonly slots: number;
  readonly laneWaiting: number;
  /** Waiting turns and held runs per owner; 0 is no limit. */
  readonly ownerWaiting: number;
  readonly ownerRunning: number;
  /** How long a blocking call waits before it gets the task as it is. */
  readonly waitMs: number;
  /** How long a run may take to die after a cancel or a timeout. After that its task ends marked as forced. */
  readonly cancelGraceMs: number;
  /** How long a run that is not known to be dead keeps its lane and its slot. */
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
  /** The interval of the polls that are a fallback for lost hints. */
  readonly pollMs: number;
  readonly janitorMs: number;
  /** How long a run waits before its first retry. Doubles with each attempt. */
  readonly retryMs: number;
  /** How long runs may continue after a stop of the service was asked for. */
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

/** A timer of Node with a longer delay fires at once. A minute is left for what is added to a setting. */
const LONGEST_MS = 2 ** 31 - 1 - MINUTE;

/** Settings that become delays of timers. The others are only compared with times. */
const TIMERS: ReadonlySet<string> = new Set([
  'waitMs',
  'cancelGraceMs',
  'quarantineMs',
  'leaseMs',
  'renewMs',
  'pollMs',
  'janitorMs',
  'drainMs',
] satisfies (keyof EngineSettings)[]);

/** The given settings, with defaults for the rest. Throws `bad-config` for an unknown name or an impossible value. */
export const settingsOf = (given: Partial<EngineSettings> = {}): EngineSettings => {
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(DEFAULT_SETTINGS, name)) {
      throw badSetting(name, `is not a setting. Known settings: ${Object.keys(DEFAULT_SETTINGS).join(', ')}`);
    }
    if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) {
      throw badSetting(name, `must be a number that is not negative, not ${String(value)}`);
    }
    if (TIMERS.has(name) && value > LONGEST_MS) throw badSetting(name, `must be at most ${LONGEST_MS}, not ${value}`);
  }
  return { ...DEFAULT_SETTINGS, ...given };
};

const badSetting = (name: string, what: string): SealaneError =>
  new SealaneError('bad-config', `settings.${name} ${what}.`, { facts: { field: `settings.${name}` } });
