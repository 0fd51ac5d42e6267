import type { AgentRegistry, TaskService } from '#engine';

import { ALL_CAPABILITIES, type Capabilities } from './capabilities.ts';
import { type CardOptions, type Cards, createCards } from './cards/index.ts';
import type { Dialect, ProtocolDeps } from './dialect.ts';
import { createRpc, type Rpc, type Settle } from './rpc.ts';
import { createTaskLogDialect } from './task-log-dialect.ts';
import { isAboutNamed } from './v01/client-task.ts';
import { createV01Dialect } from './v01/v01-dialect.ts';
import { createV03Dialect } from './v03/v03-dialect.ts';
import { createV1Dialect } from './v1-dialect.ts';

/** Everything that is spoken here, for whatever binding carries it. */
export interface Protocol {
  readonly capabilities: Capabilities;
  readonly cards: Cards;
  readonly v1: Dialect;
  /** 0.3 and 0.2. */
  readonly v03: Dialect;
  readonly v01: Dialect;
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
  readonly cards?: Partial<CardOptions>;
  readonly now?: () => number;
}

export const createProtocol = (options: ProtocolOptions): Protocol => {
  const { service, registry, capabilities = ALL_CAPABILITIES } = options;
  const cards = createCards({ ...options, capabilities, options: options.cards });
  const deps: ProtocolDeps = { service, registry, capabilities, extendedCard: (context) => cards.extended(context) };
  const v1 = createV1Dialect(deps);
  const v03 = createV03Dialect({ ...deps, extendedCard: (context) => cards.extendedV03(context) });
  const v01 = createV01Dialect(deps);
  const taskLog = createTaskLogDialect(deps);
  // 0.1 shares `tasks/get`, `tasks/cancel` and `tasks/resubscribe` with 0.3: who named the task tells them apart.
  const settle: Settle = async (_candidates, params, context) =>
    (await isAboutNamed(service, params, context)) ? v01 : v03;
  return { capabilities, cards, v1, v03, v01, taskLog, rpc: createRpc([v1, v03, v01, taskLog], settle) };
};
