/** How this user calls the command line: next steps are meant to be pasted. npm puts `npx` users' environment apart. */
export const commandName = (env: NodeJS.ProcessEnv = process.env): string =>
  env.npm_execpath === undefined && env.npm_command === undefined ? 'sealane' : 'npx sealane';

/** A word for a POSIX shell, quoted only where it must be. */
export const shellWord = (word: string): string =>
  /^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;

/** A command line of ours, ready to paste. */
export const typed = (...words: readonly string[]): string => [commandName(), ...words.map(shellWord)].join(' ');
