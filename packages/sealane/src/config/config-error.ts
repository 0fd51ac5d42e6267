import { SealaneError } from '#domain';

/** One thing that is wrong, and where: `sealane.yaml:3`, `--port`, `SEALANE_PORT`. */
export interface ConfigProblem {
  readonly where: string;
  /** The setting, like `agents.main.connector`; empty when the whole file is meant. */
  readonly setting: string;
  /** What is wrong and what would be right. */
  readonly message: string;
}

/** Everything that is wrong with the configuration, at once. */
export class ConfigError extends SealaneError {
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    const lines = problems.map(({ where, setting, message }) => `  ${where}: ${setting && `${setting} `}${message}`);
    const heading =
      problems.length === 1 ? 'The configuration has a problem:' : `The configuration has ${problems.length} problems:`;
    super('bad-config', [heading, ...lines].join('\n'), { facts: { problems: String(problems.length) } });
    this.problems = problems;
    // What is wrong stands in the file: where in our code it was found helps nobody who reads the log.
    this.stack = `${this.name}: ${this.message}`;
  }
}
