/** What placeholders stand for in one turn. */
export interface PlaceholderValues {
  readonly message: string;
  readonly contextId: string;
  readonly taskId: string;
  readonly session: string;
}

export type CommandLine =
  | { readonly ok: true; readonly program: string; readonly args: readonly string[] }
  /** The turn cannot be put into arguments; the text is for the caller. */
  | { readonly ok: false; readonly why: string };

const PLACEHOLDER = /\{(message|contextId|taskId|session)\}/g;

/**
 * Fills a template. There is no shell, so nothing in a value can become a second argument or a command; what is left is
 * a value that begins with `-` and would be read as a flag. It is refused where it would stand at the beginning of an
 * argument, unless the template says `--` before it, which ends the flags for every usual program.
 */
export const fillCommand = (template: readonly string[], values: PlaceholderValues): CommandLine => {
  const [program = '', ...elements] = template;
  const args: string[] = [];
  for (const [index, element] of elements.entries()) {
    // In one pass: a message that speaks of {taskId} keeps its words.
    const argument = element.replace(PLACEHOLDER, (_, name: keyof PlaceholderValues) => values[name]);
    if (argument.includes('\0')) {
      return { ok: false, why: 'A NUL character cannot be given to this agent. Send the message without it.' };
    }
    const isFlag = argument.startsWith('-') && !element.startsWith('-');
    if (isFlag && !elements.slice(0, index).includes('--')) {
      return {
        ok: false,
        why: element.startsWith('{message}')
          ? 'This agent takes no message that begins with "-", since its program would read it as a flag. Begin with another character.'
          : `This agent takes no id that begins with "-" (${element}), since its program would read it as a flag.`,
      };
    }
    args.push(argument);
  }
  return { ok: true, program, args };
};
