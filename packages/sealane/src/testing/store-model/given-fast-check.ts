/** What the suites call of fast-check. */
export type FastCheckMember =
  | 'array'
  | 'assert'
  | 'asyncModelRun'
  | 'asyncProperty'
  | 'boolean'
  | 'commands'
  | 'constant'
  | 'constantFrom'
  | 'nat'
  | 'oneof'
  | 'option'
  | 'record';

/**
 * Fast-check as it is handed in, by its names alone: with its own types in our declarations, nobody could compile
 * against `sealane/testing` without having it, also for the suite that makes no use of it.
 */
export type GivenFastCheck = Readonly<Record<FastCheckMember, (...args: never[]) => unknown>>;
