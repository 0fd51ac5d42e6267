import { z } from 'zod';

import { MAX_MEDIA_BYTES } from '../media-parts.ts';

/** Above that, timers would go off at once. */
const MAX_WAIT_MS = 24 * 3_600_000;

/** The configuration of an agent behind an OpenClaw Gateway. */
export const gatewayOptions = z.strictObject({
  url: z
    .url({ protocol: /^wss?$/, error: 'must be a WebSocket address like ws://127.0.0.1:18789' })
    .default('ws://127.0.0.1:18789')
    .describe('The Gateway'),
  token: z.string().min(1).describe("The Gateway's token (gateway.auth.token)"),
  agentId: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/i, 'must be an id as `openclaw agents list` shows it')
    .default('main')
    .describe("OpenClaw's id of the agent"),
  thinking: z
    .enum(['off', 'minimal', 'low', 'medium', 'high', 'xhigh'])
    .optional()
    .describe("How hard it thinks; the agent's own setting without it"),
  timeoutSeconds: z
    .int()
    .positive()
    .max(7 * 24 * 3600)
    .optional()
    .describe("OpenClaw's own limit for a run; the task's timeout ends a run in any case"),
  toolUpdates: z
    .enum(['names', 'off'])
    .default('names')
    .describe(
      'names: callers with the permission agent-default see the names of the tools that are used. Arguments are never shown, and other callers see nothing of it.',
    ),
  whenDown: z
    .enum(['wait', 'fail'])
    .default('wait')
    .describe('What a task does when the Gateway cannot be reached: wait for it until its timeout, or fail at once'),
  allowedPermissions: z
    .array(z.enum(['read-only', 'guarded', 'workspace', 'agent-default']))
    .min(1)
    .default(['read-only', 'guarded', 'workspace', 'agent-default'])
    .describe('Keys with another permission are refused'),
  sessionsConfined: z
    .boolean()
    .default(false)
    .describe(
      'The operator vouches that agents cannot reach other sessions, for a Gateway that does not show its configuration. Without it, tools.sessions.visibility must be "self".',
    ),
  approvals: z
    .enum(['deny', 'wait', 'sealane'])
    .default('deny')
    .describe(
      "What happens to a command that needs an approval. deny: it is denied at once. wait: it waits for an operator in OpenClaw (asks the Gateway for operator.approvals too). sealane: it waits, and Sealane's admin keys can decide as well (a second connection asks the Gateway for operator.admin, and never runs anything).",
    ),
  connectTimeoutMs: z
    .int()
    .positive()
    .max(MAX_WAIT_MS)
    .default(10_000)
    .describe('How long one try to connect may take'),
  requestTimeoutMs: z
    .int()
    .positive()
    .max(MAX_WAIT_MS)
    .default(30_000)
    .describe('How long the Gateway may take to answer a request'),
  resumeWaitMs: z
    .int()
    .min(0)
    .max(MAX_WAIT_MS)
    .default(30_000)
    .describe('How long a restarted Gateway may take to resume a run that its crash interrupted'),
  maxMediaBytes: z
    .int()
    .min(0)
    .default(MAX_MEDIA_BYTES)
    .describe('Larger files are not sent. In base64 they have to fit into limits.eventBytes.'),
});

export type GatewayInput = z.input<typeof gatewayOptions>;
export type GatewayOptions = z.output<typeof gatewayOptions>;
