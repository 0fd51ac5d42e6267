import { type AgentEntry, type AgentRegistry, type Caller, mayUse } from '#engine';

import { type CardFacts, type CardSkill, factsOf, interfacesOf, type ServiceFacts, urlOf } from './card-facts.ts';
import { hiddenAgent } from './hidden-agent.ts';

/** The agents that a caller may use, in the order of the registry. */
export const agentsFor = (registry: AgentRegistry, { agents }: Pick<Caller, 'agents'>): readonly AgentEntry[] =>
  registry.list().filter(({ name }) => mayUse(agents, name));

/**
 * What a known caller is told: the agent of the address, public or not, and at the root every further agent that this
 * caller may use, as a skill. Of the others there is no trace, not even when one of them is the default.
 */
export const extendedFactsOf = (
  usable: readonly AgentEntry[],
  address: string | undefined,
  fallback: AgentEntry | undefined,
  service: ServiceFacts,
): CardFacts => {
  if (address !== undefined) {
    const agent = usable.find(({ name }) => name === address);
    if (agent === undefined) throw hiddenAgent(address);
    return factsOf(agent, service, interfacesOf(service, address));
  }
  const main = usable.find((agent) => agent === fallback);
  const others = usable.filter((agent) => agent !== main);
  const base = main ? factsOf(main, service, interfacesOf(service, undefined)) : directoryOf(others, service);
  const taken = new Set(base.skills.map(({ id }) => id));
  return { ...base, skills: [...base.skills, ...others.map((agent) => skillOf(agent, taken, service))] };
};

/** No agent answers here without being named. */
const directoryOf = (agents: readonly AgentEntry[], service: ServiceFacts): CardFacts => {
  if (agents.length === 0) throw hiddenAgent(undefined);
  return {
    name: 'Sealane',
    description: 'The agents that this key may use: each skill is one of them.',
    version: service.version,
    interfaces: interfacesOf(service, undefined),
    capabilities: service.capabilities,
    extensions: service.extensions,
    security: service.security,
    inputModes: [...new Set(agents.flatMap(({ inputModes }) => inputModes))],
    outputModes: [...new Set(agents.flatMap(({ outputModes }) => outputModes))],
    skills: [],
  };
};

const skillOf = (agent: AgentEntry, taken: ReadonlySet<string>, { baseUrl }: ServiceFacts): CardSkill => ({
  id: taken.has(agent.name) ? `agents/${agent.name}` : agent.name,
  name: agent.title,
  description: `${agent.description} Name it with metadata.executor "${agent.name}", or call ${urlOf(baseUrl, agent.name)}.`,
  tags: ['agent', agent.connector.kind],
  inputModes: agent.inputModes,
  outputModes: agent.outputModes,
});
