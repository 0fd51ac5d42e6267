import type { AgentEntry, AgentRegistry } from '#engine';

import { type Capabilities, encodeCard } from './card.ts';
import type { CallContext } from './dialect.ts';

export interface Cards {
  /** The card that everybody may see. `url` is the address of the agent's JSON-RPC endpoint. */
  readonly show: (agent: AgentEntry, url: string) => Promise<string>;
  /** The card for a known caller. */
  readonly extended: (context: CallContext) => Promise<string>;
}

export const createCards = ({
  registry,
  version,
  capabilities,
}: {
  readonly registry: AgentRegistry;
  readonly version: string;
  readonly capabilities: Capabilities;
}): Cards => {
  const show: Cards['show'] = async (agent, url) => encodeCard(agent, { url, version, capabilities });
  return {
    show,
    extended: async ({ agent, baseUrl }) =>
      await show(registry.require(agent), agent === undefined ? `${baseUrl()}/a2a` : `${baseUrl()}/agents/${agent}`),
  };
};
