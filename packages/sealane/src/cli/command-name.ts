/** What the command line says where that depends on how the service is run. */
export interface CommandWords {
  /** What users type before our words, in next steps. */
  readonly name: string;
  /** The same in the examples of help. */
  readonly exampleName: string;
  /** What starts the service. */
  readonly start: string;
  /** What to look at when something else than the service answers. */
  readonly notTheService: string;
  /** What tells whether the configuration is right. */
  readonly checkConfig: string;
  /** What to do so that the service gives out another address than its own. */
  readonly setPublicUrl: string;
}

const standalone = (env: NodeJS.ProcessEnv): CommandWords => {
  // Next steps are meant to be pasted. npm puts `npx` users' environment apart.
  const name = env.npm_execpath === undefined && env.npm_command === undefined ? 'sealane' : 'npx sealane';
  return {
    name,
    exampleName: 'sealane',
    start: `${name} serve   # or --url for another address`,
    notTheService: 'check --url: is it the address of a Sealane service?',
    checkConfig: `${name} config check`,
    setPublicUrl: `start the service with its address: ${name} serve --public-url https://tasks.example.com`,
  };
};

let mounted: CommandWords | undefined;

/** This process is the command line of another program, in which ours are commands among others. */
export const useCommandWords = (words: CommandWords): void => {
  mounted = words;
};

export const commandWords = (): CommandWords => mounted ?? standalone(process.env);

/** How this user calls the command line. */
export const commandName = (): string => commandWords().name;

/** Help with examples, which are written as `sealane …`. */
export const helpText = (text: string) => (): string =>
  text.replaceAll(/\bsealane (?=[a-z])/g, `${commandWords().exampleName} `);

/** A word for a POSIX shell, quoted only where it must be. */
export const shellWord = (word: string): string =>
  /^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;

/** A command line of ours, ready to paste. */
export const typed = (...words: readonly string[]): string => [commandName(), ...words.map(shellWord)].join(' ');
