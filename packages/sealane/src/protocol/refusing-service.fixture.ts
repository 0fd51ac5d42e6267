import { SealaneError } from '#domain';
import { createAgentRegistry, type TaskService } from '#engine';

import { agentNamed } from './agent-named.fixture.ts';
import { ALL_CAPABILITIES } from './capabilities.ts';
import type { CallContext, ProtocolDeps } from './dialect.ts';
import { createNegotiation, NOTHING_ASKED } from './extensions/negotiation.ts';

export const refuse = async (): Promise<never> => {
  throw new SealaneError('task-not-found', 'There is no such task.');
};

/** A service that knows no task, for what a dialect does before it asks one. */
export const nobody: TaskService = {
  send: refuse,
  stream: refuse,
  get: refuse,
  peek: refuse,
  list: refuse,
  cancel: refuse,
  subscribe: refuse,
  events: refuse,
  remove: refuse,
  pushConfigs: { save: refuse, find: refuse, list: refuse, remove: refuse },
};

export const depsOf = (service: TaskService, capabilities = ALL_CAPABILITIES): ProtocolDeps => ({
  service,
  registry: createAgentRegistry([agentNamed('main', { isDefault: true })]),
  capabilities,
  negotiate: createNegotiation([]),
  extendedCard: async () => '{}',
});

export const context: CallContext = {
  caller: { owner: 'o', keyId: 'k', admin: false, agents: null, permission: 'guarded', tenant: '' },
  agent: undefined,
  headers: {},
  extensions: NOTHING_ASKED,
  baseUrl: () => 'http://localhost',
  signal: new AbortController().signal,
};
