import type { AgentConnector } from '#agents';
import type { AgentEntry } from '#engine';

const connector: AgentConnector = {
  kind: 'echo',
  session: ({ owner, contextId }) => `${owner}/${contextId}`,
  run: async () => ({ state: 'completed' }),
  stop: async () => 'dead',
  close: async () => undefined,
};

export const agentNamed = (name: string, more: Partial<AgentEntry> = {}): AgentEntry => ({
  name,
  connector,
  isDefault: false,
  isPublic: false,
  concurrency: 4,
  taskTimeoutMs: 1000,
  recovery: 'fail',
  maxAttempts: 1,
  reply: 'task',
  title: name,
  description: `The agent ${name}.`,
  skills: [],
  inputModes: ['*/*'],
  outputModes: ['text/plain'],
  extensions: [],
  ...more,
});
