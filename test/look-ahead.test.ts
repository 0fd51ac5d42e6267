import { expect, it } from 'vitest';

import type { AgentConnector, LookAhead } from '#agents';
import { openPostgres } from '#store/postgres/index';

import { freshSchema } from './support/fresh-schema.ts';
import { createGateAgent, type GateAgent } from './support/gate-agent.ts';
import { openService } from './support/service.ts';

/** An agent that looks ahead, what it found, and what its runs were handed of that, by their message. */
const createLookingAgent = (): {
  connector: AgentConnector;
  gate: GateAgent;
  looks: LookAhead[];
  handed: Map<string, LookAhead | undefined>;
} => {
  const gate = createGateAgent();
  const looks: LookAhead[] = [];
  const handed = new Map<string, LookAhead | undefined>();
  const connector: AgentConnector = {
    ...gate.connector,
    lookAhead: (session) => {
      const look = { session };
      looks.push(look);
      return look;
    },
    run: async (turn, io, ahead) => {
      handed.set(turn.message.parts[0]?.text ?? '', ahead);
      return await gate.connector.run(turn, io);
    },
  };
  return { connector, gate, looks, handed };
};

it('a look ahead is handed to the run that begins with its message, and never to one that had to wait', async () => {
  const { connector, gate, looks, handed } = createLookingAgent();
  await using service = await openService({ agents: { main: connector } });
  const contextId = 'one-lane';
  await service.client.submit('first', { contextId });
  const first = await gate.started('first');
  expect(handed.get('first')).toBe(looks[0]);
  expect(looks[0]).toEqual({ session: first.turn.session });
  await service.client.submit('second', { contextId });
  first.end();
  (await gate.started('second')).end();
  expect(handed.has('second')).toBe(true);
  expect(handed.get('second')).toBeUndefined();
});

it('nobody looks ahead in a store with other writers: what they did meanwhile would not be seen', async () => {
  const { connector, gate, looks, handed } = createLookingAgent();
  await using storage = await openPostgres(freshSchema());
  await using service = await openService({ store: storage, agents: { main: connector } });
  await service.client.submit('first');
  (await gate.started('first')).end();
  expect(handed.has('first')).toBe(true);
  expect(handed.get('first')).toBeUndefined();
  expect(looks).toEqual([]);
});
