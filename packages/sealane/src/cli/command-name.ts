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
  const line = (...words: readonly string[]) => [name, ...withPlace(words).map(shellWord)].join(' ');
  return {
    name,
    exampleName: 'sealane',
    start: `${line('serve')}   # or --url for another address`,
    notTheService: 'check --url: is it the address of a Sealane service?',
    checkConfig: line('config', 'check'),
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

/** Options as they were given, to be typed once more. */
export const optionWords = (options: Readonly<Record<string, string | number | undefined>>): readonly string[] =>
  Object.entries(options).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, String(value)]));

/** Where this call was told to find the service and its folder. */
interface Place {
  readonly url?: string;
  readonly dataDir?: string;
  readonly config?: string;
}

let place: Place = {};

/** From now on, command lines that are told lead to the same place as this call. */
export const rememberPlace = ({ url, dataDir, config }: Place): void => {
  place = {
    ...(url !== undefined && { url }),
    ...(dataDir !== undefined && { dataDir }),
    ...(config !== undefined && { config }),
  };
};

const CALLS_SERVICE = new Set([
  'send',
  'watch',
  'tasks',
  'export',
  'lanes',
  'approvals',
  'keys',
  'invite',
  'doctor',
  'backup',
]);
const READS_FOLDER = new Set([...CALLS_SERVICE, 'serve', 'key', 'config', 'restore']);

const withPlace = (words: readonly string[]): readonly string[] => {
  const [command = ''] = words;
  if (words.includes('--help')) return words;
  const options = [
    ...(CALLS_SERVICE.has(command) ? [['--url', place.url] as const] : []),
    ...(READS_FOLDER.has(command)
      ? ([
          ['--data-dir', place.dataDir],
          ['--config', place.config],
        ] as const)
      : []),
  ];
  return [
    ...words,
    ...options.flatMap(([flag, value]) => (value === undefined || words.includes(flag) ? [] : [flag, value])),
  ];
};

/** A command line of ours, ready to paste. */
export const typed = (...words: readonly string[]): string =>
  [commandName(), ...withPlace(words).map(shellWord)].join(' ');
