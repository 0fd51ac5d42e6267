export interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  /** It works, and somebody should look at it all the same. */
  readonly isWarning?: boolean;
  /** What to type, when it is not ok or a warning. */
  readonly next?: string | undefined;
}
