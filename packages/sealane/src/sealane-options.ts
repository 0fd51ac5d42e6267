import { tmpdir } from 'node:os';

import type { Logger } from 'pino';

import type { AgentConnector } from '#agents';
import { SealaneError } from '#domain';
import { type AgentEntry, type AgentExtension, type AgentSkill, checkAgents, type EngineSettings } from '#engine';
import { HTTP_DEFAULTS, type HttpOptions } from '#http';
import type { GivenKey, KeyOverride } from '#identity';
import type { Capabilities, CardOptions } from '#protocol';
import type { PushSettings } from '#push';
import type { Storage } from '#store';

/** An agent, or just its connector with everything else as usual. */
export interface AgentOptions {
  readonly connector: AgentConnector;
  readonly default?: boolean;
  readonly public?: boolean;
  readonly concurrency?: number;
  readonly taskTimeoutMs?: number;
  readonly recovery?: 'fail' | 'retry';
  readonly reply?: 'task' | 'message';
  readonly title?: string;
  readonly description?: string;
  readonly skills?: readonly AgentSkill[];
  /** Media types that it takes and gives; everything by default. */
  readonly inputModes?: readonly string[];
  readonly outputModes?: readonly string[];
  readonly extensions?: readonly AgentExtension[];
}

export interface SealaneOptions {
  /** `memory`, `sqlite:FILE`, `postgres://…`, or a storage of your own. */
  readonly store: string | Storage;
  /** By name. The only one, or the one marked `default`, takes messages that name no agent. */
  readonly agents: Readonly<Record<string, AgentConnector | AgentOptions>>;
  /** The operator's key. Without it only keys from the store work. */
  readonly adminKey?: string;
  /** Keys whose secrets somebody else keeps. */
  readonly givenKeys?: readonly GivenKey[];
  readonly keyOverrides?: (name: string) => KeyOverride | undefined;
  readonly settings?: Partial<EngineSettings>;
  readonly ratePerMinute?: number;
  /** How much of its answers a key may leave unread on this instance; 0 is no limit. */
  readonly unreadBytes?: number;
  /** What of A2A is offered; all of it by default. */
  readonly capabilities?: Capabilities;
  /** How agent cards look, and where the keys are that sign them. */
  readonly cards?: Partial<CardOptions>;
  readonly http?: Partial<HttpOptions>;
  /** Lets webhooks lead to this machine and its network. */
  readonly allowPrivateWebhooks?: boolean;
  readonly push?: Partial<PushSettings>;
  /** False: no spans of its own, whatever `OTEL_*` says; for a host process that exports its own. */
  readonly tracing?: boolean;
  readonly log?: Logger;
  /**
   * Called at most once, when the store has failed for good (the thread of the SQLite store has died). The service then
   * refuses every call: close it, and make another one or end the program.
   */
  readonly onFatal?: (error: Error) => void;
}

const ANYTHING = ['text/plain', 'application/json', '*/*'];
const DEFAULT_TIMEOUT_MS = 30 * 60_000;
/** A timer that is to take longer fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

const entryOf = (name: string, agent: AgentConnector | AgentOptions): AgentEntry => {
  const options: AgentOptions = isObject(agent) && 'connector' in agent ? agent : { connector: agent };
  return {
    name,
    connector: options.connector,
    isDefault: options.default ?? false,
    isPublic: options.public ?? false,
    concurrency: options.concurrency ?? 16,
    taskTimeoutMs: options.taskTimeoutMs ?? DEFAULT_TIMEOUT_MS,
    recovery: options.recovery ?? 'fail',
    maxAttempts: 3,
    reply: options.reply ?? 'task',
    title: options.title ?? name,
    description: options.description ?? `The agent ${name}, served by Sealane.`,
    skills: options.skills ?? [],
    inputModes: options.inputModes ?? ANYTHING,
    outputModes: options.outputModes ?? ANYTHING,
    extensions: options.extensions ?? [],
  };
};

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** The agents as the engine knows them, once all of them can be run. */
export const entriesOf = (agents: SealaneOptions['agents']): AgentEntry[] => {
  if (!isObject(agents)) throw new SealaneError('bad-config', 'agents must be an object: connectors by name.');
  const entries = Object.entries(agents).map(([name, agent]) => entryOf(name, agent));
  checkAgents(entries);
  return entries;
};

/** Letters, digits and the marks that mean nothing to a router. */
const PREFIX = /^(?:\/[\w.~-]+)*$/;

/**
 * What was given, and the defaults for the rest; what is undefined was not given (`host: process.env.HOST`). `tasks`,
 * `/tasks` and `/tasks/` are one prefix: it is a part of every address on the cards.
 */
export const httpOptionsOf = (given: SealaneOptions['http'] = {}): HttpOptions => {
  const known = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const options: HttpOptions = { ...HTTP_DEFAULTS, scratchDir: tmpdir(), ...known };
  const { publicUrl, bodyLimitBytes } = options;
  if (publicUrl !== undefined && !(URL.canParse(publicUrl) && /^https?:$/.test(new URL(publicUrl).protocol))) {
    throw new SealaneError('bad-config', 'http.publicUrl must be an address like https://example.com/tasks.');
  }
  for (const name of ['heartbeatMs', 'stallMs'] as const) {
    if (options[name] >= 1 && options[name] <= LONGEST_TIMER_MS) continue;
    throw new SealaneError('bad-config', `http.${name} must be from 1 to ${LONGEST_TIMER_MS}, not ${options[name]}.`);
  }
  for (const name of ['allowedHosts', 'allowedOrigins', 'trustedProxies'] as const) {
    if (Array.isArray(options[name]) || (name === 'allowedHosts' && options[name] === 'any')) continue;
    throw new SealaneError('bad-config', `http.${name} must be a list: ["…"], not ${JSON.stringify(options[name])}.`);
  }
  if (!(Number.isSafeInteger(bodyLimitBytes) && bodyLimitBytes > 0)) {
    throw new SealaneError('bad-config', `http.bodyLimitBytes must be a whole number above 0, not ${bodyLimitBytes}.`);
  }
  const path = options.prefix.replace(/^\/+|\/+$/g, '');
  const prefix = path === '' ? '' : `/${path}`;
  if (!PREFIX.test(prefix)) {
    throw new SealaneError(
      'bad-config',
      `http.prefix must be a path like /tasks, of letters, digits and the characters - . _ ~, not ${options.prefix}.`,
    );
  }
  return { ...options, prefix };
};
