import { isIP } from 'node:net';

import { z } from 'zod';

import { agentSchema, LONGEST_RUN_MINUTES } from './agent-schema.ts';

const MIB = 1024 * 1024;

/** Names go into URLs, lane keys and tables; this is what all of them take without escaping. */
const nameSchema = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
    'must be letters, digits, ".", "_" or "-", at most 64, and start with a letter or digit',
  );

const portSchema = z.int().min(0).max(65_535);

const storeSchema = z
  .string()
  .regex(/^(sqlite|memory|postgres(ql)?:\/\/.+)$/s, 'must be sqlite, memory or postgres://user:password@host/database');

const isPeer = (text: string): boolean => {
  const [address = '', bits, ...rest] = text.split('/');
  if (text === 'loopback' || (isIP(address) !== 0 && bits === undefined)) return true;
  return (
    rest.length === 0 &&
    /^\d{1,3}$/.test(bits ?? '') &&
    Number(bits) <= (isIP(address) === 6 ? 128 : 32) &&
    isIP(address) !== 0
  );
};

const proxySchema = z.string().refine(isPeer, 'must be an address, a range like 10.0.0.0/8, or loopback');

const urlSchema = z
  .url({ protocol: /^https?$/, error: 'must be an address like https://tasks.example.com' })
  .transform((url) => url.replace(/\/+$/, ''));

const addressSchema = z
  .string()
  .regex(/^(\[[0-9a-f:]+\]|[^\s:/]+):\d{1,5}$/i, 'must be host:port, like tasks.example.com:443');

/** What a Host header can name; a whole address, or a pattern, would never be found in one. */
const hostSchema = z.string().regex(/^[^\s/*@]+$/, 'must be the name of a host, like tasks.example.com');

/** What browsers send as Origin: written in another way it would never be found there. */
const originSchema = z.string().refine((text) => /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#*@]+$/.test(text) && isAsSent(text), {
  error: 'must be an origin as browsers send it, like https://app.example.com: no path, no usual port, no pattern',
});

const isAsSent = (text: string): boolean => {
  if (!URL.canParse(text)) return false;
  const { protocol, origin } = new URL(text);
  return !/^https?:$/.test(protocol) || origin === text;
};

/** A header value: what a client sends after `Bearer `. */
const secretSchema = z.string().regex(/^[\x21-\x7e]+$/, 'must be printable ASCII characters without spaces');

const PER_MINUTE = { s: 60, sec: 60, min: 1, h: 1 / 60, hour: 1 / 60 } as const;

/** `30/min`, `5/s`, `1000/h`: requests, as a number a minute. What is less than one would be more than was meant. */
export const rateSchema = z
  .string()
  .regex(/^[1-9]\d*\/(s|sec|min|h|hour)$/, 'must be a rate like 30/min, 5/s or 1000/h')
  .transform((text) => {
    const [count, unit] = text.split('/');
    return Math.floor(Number(count) * PER_MINUTE[unit as keyof typeof PER_MINUTE]);
  })
  .refine((perMinute) => perMinute >= 1, 'must be at least 60/h: rates are counted by the minute');

const keySchema = z.strictObject({
  agents: z.array(nameSchema).min(1).optional().describe('Agents the key may use; all without it'),
  permission: z
    .enum(['read-only', 'guarded', 'workspace', 'agent-default'])
    .optional()
    .describe('How much the key may do through an agent, least first'),
  rate: rateSchema.optional().describe('Requests it may make, like 30/min'),
});

export type KeyConfig = z.output<typeof keySchema>;

/** Timers cannot be set for much longer than three weeks: then they go off at once. */
const WEEK_SECONDS = 7 * 24 * 3600;

const tasksSchema = z.strictObject({
  ttlDays: z.number().min(0).default(7).describe('Days that ended tasks are kept; 0 keeps them'),
  timeoutMinutes: z
    .number()
    .positive()
    .max(LONGEST_RUN_MINUTES)
    .default(30)
    .describe("Ends a turn's work, across attempts"),
  queueTimeoutMinutes: z.number().positive().default(1440).describe('How long a turn may wait in its lane'),
  inputTimeoutMinutes: z.number().positive().default(10_080).describe('How long a task may wait for an answer'),
  waitSeconds: z
    .number()
    .positive()
    .max(WEEK_SECONDS)
    .default(600)
    .describe('How long a blocking call is held for its turn'),
  cancelGraceSeconds: z
    .number()
    .min(0)
    .max(WEEK_SECONDS)
    .default(10)
    .describe('How long a canceled run may take to die'),
});

const limitsSchema = z.strictObject({
  bodyBytes: z.int().min(1024).default(MIB).describe('A request'),
  laneWaiting: z.int().min(1).default(9999).describe('Turns that wait in one lane'),
  ownerWaiting: z.int().min(0).default(0).describe('Turns that wait for one owner; 0 is no limit'),
  ownerRunning: z.int().min(0).default(0).describe('Runs of one owner at the same time; 0 is no limit'),
  eventBytes: z.int().min(1024).default(MIB).describe('One event'),
  artifactBytes: z
    .int()
    .min(1024)
    .default(16 * MIB)
    .describe('One artifact'),
  taskBytes: z
    .int()
    .min(1024)
    .default(64 * MIB)
    .describe('The artifacts of one run together; a task that is as large takes no more messages'),
  ratePerMinute: z
    .int()
    .min(1)
    .default(6000)
    .describe('Requests of one key in a minute, for keys without a rate of their own'),
  unreadBytes: z
    .int()
    .min(0)
    .default(128 * MIB)
    .describe('Answers of one key that nobody has read yet; 0 is no limit'),
  slots: z.int().min(1).max(100_000).default(256).describe('Runs at the same time on one instance, of all agents'),
});

/** The one description of the configuration: types, defaults, help, and the JSON Schema for editors. */
export const configSchema = z.strictObject({
  port: portSchema.default(7420).describe('Port of the service; 0 takes a free one'),
  host: z.string().min(1).default('127.0.0.1').describe('Address to listen on'),
  dataDir: z.string().min(1).default('~/.sealane').describe('Folder for the database and the admin key'),
  store: storeSchema.default('sqlite').describe('sqlite (a file in the data folder), memory, or postgres://…'),
  adminKey: secretSchema.optional().describe("The operator's key; made at the first start without it"),
  adminKeyFile: z.string().min(1).optional().describe('File that holds the admin key'),
  grpcPort: portSchema.optional().describe('Port for gRPC; 0 takes a free one, none is opened without it'),
  publicUrl: urlSchema.optional().describe('Address under which clients reach the service'),
  publicGrpcAddress: addressSchema
    .optional()
    .describe('host:port under which clients reach gRPC, for the cards; needed behind a proxy'),
  insecureHttp: z.boolean().default(false).describe('Allows plain HTTP on addresses that others can reach'),
  allowPrivateWebhooks: z.boolean().default(false).describe('Allows webhooks to private and loopback addresses'),
  allowedHosts: z.array(hostSchema).default([]).describe('Further Host headers to answer to'),
  allowedOrigins: z.array(originSchema).default([]).describe('Web origins that may call from a browser'),
  trustedProxies: z
    .array(proxySchema)
    .default([])
    .describe('Proxies whose Forwarded and X-Forwarded headers count: addresses, ranges like 10.0.0.0/8, loopback'),
  logLevel: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
    .default('info')
    .describe('Least important level that is logged'),
  agents: z
    .record(nameSchema, agentSchema)
    .prefault({ echo: { connector: 'echo', default: true, public: true } })
    .describe('The agents by name'),
  keys: z.record(nameSchema, keySchema).prefault({}).describe('Limits for API keys, by the name of the key'),
  tasks: tasksSchema.prefault({}).describe('Clocks and retention'),
  limits: limitsSchema.prefault({}).describe('Sizes and numbers that are refused beyond'),
});

export type Config = z.output<typeof configSchema>;

/** For editors: `# yaml-language-server: $schema=…` in the first line of the file. */
export const configJsonSchema = (): Record<string, unknown> => ({
  ...z.toJSONSchema(configSchema, { io: 'input' }),
  title: 'Sealane configuration',
});
