import type { AgentRegistry, TaskService } from '#engine';

import { ALL_CAPABILITIES, type Capabilities } from './card.ts';
import { type Cards, createCards } from './cards.ts';
import type { Dialect, ProtocolDeps } from './dialect.ts';
import { createRpc, type Rpc } from './rpc.ts';
import { createTaskLogDialect } from './task-log-dialect.ts';
import { createV1Dialect } from './v1-dialect.ts';

/** Everything that is spoken here, for whatever binding carries it. */
export interface Protocol {
  readonly capabilities: Capabilities;
  readonly cards: Cards;
  readonly v1: Dialect;
  /** Sealane's own methods, in every version. */
  readonly taskLog: Dialect;
  /** All of them behind one JSON-RPC address. */
  readonly rpc: Rpc;
}

export interface ProtocolOptions {
  readonly service: TaskService;
  readonly registry: AgentRegistry;
  /** The service's version, for the cards. */
  readonly version: string;
  /** What is offered; all of it by default. */
  readonly capabilities?: Capabilities;
}

export const createProtocol = (options: ProtocolOptions): Protocol => {
  const { service, registry, capabilities = ALL_CAPABILITIES } = options;
  const cards = createCards({ ...options, capabilities });
  const deps: ProtocolDeps = { service, registry, capabilities, extendedCard: cards.extended };
  const v1 = createV1Dialect(deps);
  const taskLog = createTaskLogDialect(deps);
  return { capabilities, cards, v1, taskLog, rpc: createRpc([v1, taskLog]) };
};
