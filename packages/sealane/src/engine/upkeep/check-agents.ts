import type { AgentConnector } from '#agents';
import { SealaneError } from '#domain';

import type { AgentEntry } from '../agent-registry.ts';

/** The members that every connector must have. */
const MEMBERS = ['session', 'run', 'stop', 'close'] as const satisfies readonly (keyof AgentConnector)[];

/** A name is a segment of an address. These names mean something else there, or get lost. */
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const UNFIT_NAME = /^\.{0,2}$|[/\u0000-\u001f\u007f]/;

/** Throws `bad-config` if agents cannot run as they are described. A start fails then, instead of the first message. */
export const checkAgents = (entries: readonly AgentEntry[]): void => {
  for (const entry of entries) checkAgent(entry);
  const [first, second] = entries.filter(({ isDefault }) => isDefault);
  if (first && second) {
    throw badAgent(second.name, `and "${first.name}" are both marked as default. Mark one of them`);
  }
};

const checkAgent = ({ name, connector, concurrency, taskTimeoutMs, recovery, reply }: AgentEntry): void => {
  if (UNFIT_NAME.test(name)) throw badAgent(name, 'has a name that cannot be part of an address. Give it another name');
  const missing = MEMBERS.filter((member) => typeof (connector as AgentConnector | undefined)?.[member] !== 'function');
  if (missing.length > 0) {
    throw badAgent(name, `has no connector: what was given lacks ${missing.map((member) => `${member}()`).join(', ')}`);
  }
  if (!(concurrency === Infinity || (Number.isInteger(concurrency) && concurrency > 0))) {
    throw badAgent(
      name,
      `needs a whole number as its concurrency, 1 or more, not ${String(concurrency)}. To stop an agent, pause it`,
    );
  }
  if (typeof taskTimeoutMs !== 'number' || !(taskTimeoutMs > 0)) {
    throw badAgent(name, `needs a taskTimeoutMs above 0, not ${String(taskTimeoutMs)}`);
  }
  if (recovery !== 'fail' && recovery !== 'retry') throw badAgent(name, 'needs "fail" or "retry" as its recovery');
  if (reply !== 'task' && reply !== 'message') throw badAgent(name, 'needs "task" or "message" as its reply');
};

const badAgent = (name: string, what: string): SealaneError =>
  new SealaneError('bad-config', `The agent "${name}" ${what}.`, { facts: { agent: name } });
