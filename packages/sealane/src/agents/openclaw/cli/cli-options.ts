import { z } from 'zod';

import { MAX_TIMER_MS, programEnv, programText } from '../../command/command-options.ts';
import { MAX_MEDIA_BYTES } from '../media-parts.ts';

/** The configuration of an agent that is the `openclaw` program. */
export const cliOptions = z
  .strictObject({
    agentId: z
      .string()
      .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/i, 'must be an id as `openclaw agents list` shows it')
      .optional()
      .describe("OpenClaw's id of the agent; its default agent without it"),
    thinking: z
      .enum(['off', 'minimal', 'low', 'medium', 'high', 'xhigh'])
      .default('low')
      .describe('How hard it thinks. A model without reasoning takes only `off`.'),
    timeoutSeconds: z
      .int()
      .positive()
      .max(7 * 24 * 3600)
      .default(300)
      .describe('A program that runs longer is ended, and its task fails. Waiting for its turn does not count.'),
    path: programText.min(1).default('openclaw').describe('The program: a name in PATH, or a path'),
    workingDirectory: programText.min(1).optional().describe('The directory that the program starts in'),
    env: programEnv.default({}).describe('Variables to add to its environment'),
    inheritEnv: z
      .union([z.boolean(), z.array(z.string())])
      .default(true)
      .describe(
        'Which of our variables it sees beyond PATH, HOME and the like: true for all, among them the keys of model providers, or names. Variables of Sealane itself are never handed on.',
      ),
    asyncMode: z
      .boolean()
      .default(true)
      .describe('false: the caller waits, and the answer is a Message instead of a task'),
    local: z
      .boolean()
      .default(true)
      .describe('true: the program does the work itself (--local). false: it hands the work to the running Gateway.'),
    stateDir: programText
      .min(1)
      .optional()
      .describe("OpenClaw's state directory; OPENCLAW_STATE_DIR or ~/.openclaw without it"),
    stateDirPerLane: z
      .boolean()
      .default(false)
      .describe(
        'Every conversation gets a state directory of its own below `stateDir`, so that several run at the same time. The configuration stays the one of `stateDir`; logins that are stored in it are not seen, so give keys there or by `env`.',
      ),
    trustCallers: z
      .boolean()
      .default(false)
      .describe(
        'The program acts with all rights of whoever runs Sealane. Without this, it serves only keys with the permission agent-default; with it, everybody who has a key.',
      ),
    mediaRoots: z
      .array(programText.min(1))
      .default([])
      .describe(
        "Directories whose files the agent may send, beside its workspace and OpenClaw's own media directory (these two only with `local: true`)",
      ),
    maxMediaBytes: z
      .int()
      .min(0)
      .default(MAX_MEDIA_BYTES)
      .describe('Larger files are not sent. In base64 they have to fit into limits.eventBytes.'),
    killGraceMs: z
      .int()
      .min(0)
      .max(MAX_TIMER_MS)
      .default(5000)
      .describe('How long its processes have to end after SIGTERM before they are killed'),
    maxOutputBytes: z
      .int()
      .positive()
      .default(16 * 1024 * 1024)
      .describe('A program that prints more is stopped, and its task fails'),
    beatLimitMs: z
      .int()
      .min(100)
      .max(MAX_TIMER_MS)
      .default(10_000)
      .describe('When Sealane itself stands still for this long, its programs are killed'),
  })
  .superRefine(({ local, stateDirPerLane }, context) => {
    if (local || !stateDirPerLane) return;
    context.addIssue({
      code: 'custom',
      path: ['stateDirPerLane'],
      message: 'a Gateway has one state directory; leave this out, or set `local: true`',
    });
  });

/** What stands in the configuration. */
export type CliInput = z.input<typeof cliOptions>;
/** The same with all defaults. */
export type CliOptions = z.output<typeof cliOptions>;
