import type { ServicePlan } from './service-plan.ts';

/** What the system says about the service now. */
export interface ServiceState {
  /** It is started again with the system, or when the user logs in. */
  readonly isEnabled: boolean;
  readonly isRunning: boolean;
  /** In the system's own words, like `active (running)`. */
  readonly detail: string;
  readonly pid: number | undefined;
  readonly since: Date | undefined;
  /** It has given up, so that waiting for it makes no sense. */
  readonly hasFailed: boolean;
}

/** What keeps programs running on this system. Each method that fails throws a `CliError` with the next step. */
export interface ServiceManager {
  readonly kind: 'systemd' | 'launchd';
  /** The file that describes the service to the system. */
  readonly file: string;
  render(plan: ServicePlan): string;
  /** Throws when the system's manager does not answer, with what to do instead. */
  check(): Promise<void>;
  /** The variables that it gives to everything it starts. */
  environment(): Promise<NodeJS.ProcessEnv>;
  /** Takes the file in, enables the service and starts it anew, also when it was running. */
  start(): Promise<void>;
  /** Stops and disables it; afterwards the file may go. */
  stop(): Promise<void>;
  /** Lets the system notice that the file is gone. */
  forget(): Promise<void>;
  state(): Promise<ServiceState>;
  /** The program that prints the log. */
  logCommand(options: LogOptions): readonly [program: string, ...words: string[]];
  /** What the user should know about when it runs, if it is not always. */
  findHint(): Promise<string | undefined>;
}

export interface LogOptions {
  readonly lines: number;
  readonly isFollowed: boolean;
  readonly isJson: boolean;
}
