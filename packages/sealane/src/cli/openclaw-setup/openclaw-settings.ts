/** A tree of settings in which every step may be missing or of another kind. */
export interface Settings {
  at(name: string): Settings;
  has(name: string): boolean;
  readonly value: unknown;
  readonly entries: readonly (readonly [string, Settings])[];
}
