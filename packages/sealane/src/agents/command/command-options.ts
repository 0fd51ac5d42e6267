import { z } from 'zod';

const placeholderHelp = 'The program and its arguments; no shell is involved. `{message}`, `{contextId}`, `{taskId}`';

/** No system hands a NUL character to a program. It is mostly a secret's file that was saved as UTF-16. */
export const programText = z
  .string()
  .refine((value) => !value.includes('\0'), 'has a NUL character; if it comes from a file, save that as UTF-8');

/** Variables for a program. */
export const programEnv = z.record(z.string().regex(/^[^=\0]+$/, 'must not be empty and has no "="'), programText);

/** Timers that are set for longer go off at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** The configuration of an agent that is a program. */
export const commandOptions = z
  .strictObject({
    command: z
      .array(programText)
      .min(1, 'name at least the program, for example: command: [my-agent, --prompt, "{message}"]')
      .refine(([program]) => program !== '', 'the program, the first element, is empty')
      .describe(
        `${placeholderHelp} and \`{session}\` are replaced in the arguments. A message that begins with \`-\` is refused where an argument begins with \`{message}\`, unless an element \`--\` stands before it.`,
      ),
    input: z
      .enum(['stdin', 'argument', 'json'])
      .optional()
      .describe(
        'How the program gets the message: its text on standard input, as the argument `{message}`, or one JSON line {taskId, contextId, message, history, metadata, extensions, outputModes} on standard input. By default `argument` when the command has `{message}`, else `stdin`.',
      ),
    output: z
      .enum(['text', 'json', 'jsonl'])
      .default('text')
      .describe(
        'What the program prints: text that is the answer, one JSON value at the end, or one JSON object per line as it works.',
      ),
    steer: z
      .boolean()
      .default(false)
      .describe('Messages to a working task go to the program as JSON lines. Only with `output: jsonl`.'),
    cwd: programText.min(1).optional().describe('The directory that the program starts in.'),
    env: programEnv.default({}).describe('Variables to add to the environment.'),
    inheritEnv: z
      .union([z.boolean(), z.array(z.string())])
      .default(false)
      .describe(
        'Which of our variables the program sees beyond PATH, HOME, LANG, LC_*, TMPDIR, TZ, USER and SHELL: names, or true for all. Variables of Sealane itself are never handed on.',
      ),
    killGraceMs: z
      .number()
      .int()
      .min(0)
      .max(MAX_TIMER_MS)
      .default(2000)
      .describe('How long its processes have to end after SIGTERM before they are killed.'),
    maxOutputBytes: z
      .number()
      .int()
      .positive()
      .default(16 * 1024 * 1024)
      .describe('A program that prints more is stopped, and its turn fails.'),
    maxStderrBytes: z
      .number()
      .int()
      .min(0)
      .default(4096)
      .describe('How much of the end of standard error goes into the text of a failure.'),
    beatLimitMs: z
      .number()
      .int()
      .min(100)
      .max(MAX_TIMER_MS)
      .default(10_000)
      .describe('When Sealane itself stands still for this long, its programs are killed.'),
  })
  .superRefine(({ command, input, output, steer }, context) => {
    const hasMessage = command.slice(1).some((element) => element.includes('{message}'));
    const refuse = (path: string, message: string): void => context.addIssue({ code: 'custom', path: [path], message });
    if (input === 'argument' && !hasMessage) {
      refuse('input', '`argument` needs `{message}` in the command; add it, or use `stdin`');
    }
    if (steer && output !== 'jsonl') refuse('steer', 'only programs with `output: jsonl` can be steered');
    if (steer && inputOf({ command, input }) === 'stdin') {
      refuse('steer', 'standard input ends after the message with `input: stdin`; use `json` or `argument`');
    }
  });

/** What stands in the configuration. */
export type CommandInput = z.input<typeof commandOptions>;
/** The same with all defaults. */
export type CommandOptions = z.output<typeof commandOptions>;

export const inputOf = ({
  command,
  input,
}: {
  readonly command: readonly string[];
  readonly input?: CommandOptions['input'];
}): 'stdin' | 'argument' | 'json' =>
  input ?? (command.slice(1).some((element) => element.includes('{message}')) ? 'argument' : 'stdin');
