import type { JsonObject } from '#domain';

import { beginningOf } from '../text-chunks.ts';

/** Why a run has no answer. */
export interface CliFailure {
  readonly kind: 'failure';
  readonly reason: string;
  /** For people: what happened, and what to do about it. */
  readonly why: string;
  readonly retryable: boolean;
  readonly metadata: JsonObject;
  /** For the operator alone. */
  readonly detail?: string;
}

interface Known {
  readonly sign: RegExp;
  readonly reason: string;
  readonly retryable?: true;
  readonly advice: string;
}

/** OpenClaw tells failures apart only by their words. */
const KNOWN: readonly Known[] = [
  {
    sign: /acquire gateway state ownership/i,
    reason: 'busy',
    retryable: true,
    advice:
      'Another OpenClaw process works in the same state directory. Try again when it has ended, or give this agent a `stateDir` of its own.',
  },
  {
    sign: /A Gateway is running for this state directory/i,
    reason: 'bad-config',
    advice: 'Set `local: false` for this agent, connect it by `via: gateway`, or give it a `stateDir` of its own.',
  },
  { sign: /Unknown agent id/i, reason: 'bad-config', advice: 'Set `agentId` to one of them.' },
  {
    sign: /config is invalid/i,
    reason: 'bad-config',
    advice: 'Correct its configuration; `openclaw doctor` helps.',
  },
  { sign: /thinking level/i, reason: 'bad-config', advice: 'Set `thinking` for this agent.' },
  {
    sign: /No route-compatible authentication source/i,
    reason: 'bad-config',
    advice:
      'Does this agent see the right configuration (`stateDir`, OPENCLAW_CONFIG_PATH) and its keys (`inheritEnv`)?',
  },
  {
    sign: /requires credentials before opening a websocket|gateway.*(unauthorized|token mismatch)/i,
    reason: 'unauthorized',
    advice: 'The Gateway of `local: false` wants its token: set OPENCLAW_GATEWAY_TOKEN in `env`.',
  },
  {
    sign: /Gateway not reachable|gateway-restarting/i,
    reason: 'unavailable',
    retryable: true,
    advice: 'Is the OpenClaw Gateway running?',
  },
  {
    // It may have taken the message before, and go on with it: another try could do the work twice.
    sign: /gateway (agent )?(connection )?closed/i,
    reason: 'unavailable',
    advice: 'The OpenClaw Gateway went away. Look there what became of the run before you send the message again.',
  },
  { sign: /timed out before a response|^gateway (request )?timeout/im, reason: 'timeout', advice: '' },
];

export const failureOf = (said: string, metadata: JsonObject = {}): CliFailure => {
  const known = KNOWN.find(({ sign }) => sign.test(said));
  return {
    kind: 'failure',
    reason: known?.reason ?? 'agent',
    why: [beginningOf(said.trim()) || 'OpenClaw gave no reason.', known?.advice ?? '']
      .filter((part) => part !== '')
      .join('\n'),
    retryable: known?.retryable === true,
    metadata,
  };
};

/** What is said of programs, with the names that the settings have here. */
export const inOurWords = (why: string): string =>
  why.replaceAll('`command`', '`path`').replaceAll('`cwd`', '`workingDirectory`');
