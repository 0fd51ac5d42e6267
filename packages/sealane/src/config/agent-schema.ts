import { z } from 'zod';

import { commandOptions } from '#agents/command/command-options';
import { cliOptions } from '#agents/openclaw/cli/cli-options';
import { gatewayOptions } from '#agents/openclaw/gateway/gateway-options';

/** Words that name a connector of a later version: known, and refused with a better sentence than "unknown". */
export const LATER_CONNECTORS: readonly string[] = ['a2a', 'hub'];

const skillSchema = z.strictObject({
  id: z.string().min(1).describe('The skill as programs know it'),
  name: z.string().optional().describe('The skill as people know it; the id without it'),
  description: z.string().default('').describe('What the skill does'),
  tags: z.array(z.string()).default([]).describe('Words to find it by'),
  examples: z.array(z.string()).optional().describe('Messages that use it'),
});

const mediaTypeSchema = z
  .string()
  .regex(/^[\w!#$&^.+*-]+\/[\w!#$&^.+*-]+$/, 'must be a media type like text/plain, image/* or */*');

const extensionSchema = z.strictObject({
  uri: z.string().min(1).describe('The name of the extension'),
  description: z.string().optional().describe('How the agent uses it'),
  required: z.boolean().optional().describe('Callers that do not ask for it are refused'),
  params: z.record(z.string(), z.json()).optional().describe('What the extension wants to be told on the card'),
});

/** Timers cannot be set for longer: 24 days. */
export const LONGEST_RUN_MINUTES = 34_560;

/** What every agent can say about itself. Only the number of parallel runs depends on what a run costs. */
const commonSettings = (concurrency: number) => ({
  default: z.boolean().default(false).describe('Takes the messages that name no agent'),
  public: z.boolean().default(false).describe('Shown on the card that anybody can read'),
  concurrency: z.int().min(1).max(10_000).default(concurrency).describe('Runs at the same time on one instance'),
  timeoutMinutes: z
    .number()
    .positive()
    .max(LONGEST_RUN_MINUTES)
    .optional()
    .describe("Ends a turn's work, across attempts; tasks.timeoutMinutes without it"),
  recovery: z
    .enum(['fail', 'retry'])
    .default('fail')
    .describe('What becomes of a run whose instance died: fail it, or try again (at most 3 attempts)'),
  reply: z.enum(['task', 'message']).default('task').describe('message: every answer is a Message instead of a task'),
  title: z.string().min(1).optional().describe('The name on the card'),
  description: z.string().optional().describe('The description on the card'),
  skills: z.array(skillSchema).default([]).describe('The skills on the card'),
  inputModes: z.array(mediaTypeSchema).min(1).optional().describe('Media types that it takes; all without it'),
  outputModes: z.array(mediaTypeSchema).min(1).optional().describe('Media types that it answers in; any without it'),
  extensions: z.array(extensionSchema).default([]).describe('Extensions of A2A that the agent understands'),
});

const echoAgent = z.strictObject({
  connector: z.literal('echo').describe('Answers with what it was sent; for tests and demos'),
  ...commonSettings(256),
});

const commandAgent = commandOptions.safeExtend({
  connector: z.literal('command').describe('Runs a program for each message'),
  ...commonSettings(4),
});

const openclawGatewayAgent = gatewayOptions.safeExtend({
  connector: z.literal('openclaw').describe('An agent of OpenClaw'),
  via: z.literal('gateway').describe('Through a running OpenClaw Gateway'),
  ...commonSettings(8),
});

const openclawCliAgent = cliOptions.safeExtend({
  connector: z.literal('openclaw').describe('An agent of OpenClaw'),
  via: z.literal('cli').describe('Starts the openclaw program for each message'),
  ...commonSettings(4),
});

export const agentSchema = z.discriminatedUnion('connector', [
  echoAgent,
  commandAgent,
  z.discriminatedUnion('via', [openclawGatewayAgent, openclawCliAgent]),
]);

export type AgentConfig = z.output<typeof agentSchema>;
