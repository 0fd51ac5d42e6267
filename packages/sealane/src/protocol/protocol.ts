import type { AgentRegistry, TaskService } from '#engine';

import { ALL_CAPABILITIES, type Capabilities } from './capabilities.ts';
import { type CardOptions, type Cards, createCards } from './cards/index.ts';
import type { Dialect, ProtocolDeps } from './dialect.ts';
import { type Extension, joinExtensions } from './extensions/extension.ts';
import { createNegotiation, type Negotiate } from './extensions/negotiation.ts';
import { TASK_LOG } from './extensions/task-log.ts';
import type { RestRoute } from './rest-route.ts';
import { createRpc, type Rpc, type Settle } from './rpc.ts';
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
  /** The methods of all extensions, in every version. */
  readonly extensions: Dialect;
  /** The addresses of these methods in 1.0 over plain HTTP. */
  readonly extensionRoutes: readonly RestRoute[];
  /** All of these methods behind one JSON-RPC address. */
  readonly rpc: Rpc;
  /** Which extensions a call activates, for every binding. */
  readonly negotiate: Negotiate;
}

export interface ProtocolOptions {
  readonly service: TaskService;
  readonly registry: AgentRegistry;
  /** The service's version, for the cards. */
  readonly version: string;
  /** What is offered; all of it by default. */
  readonly capabilities?: Capabilities;
  /** What is spoken beside A2A; the task log by default. */
  readonly extensions?: readonly Extension[];
  readonly cards?: Partial<CardOptions>;
  readonly now?: () => number;
}

export const createProtocol = (options: ProtocolOptions): Protocol => {
  const { service, registry, capabilities = ALL_CAPABILITIES, extensions: registered = [TASK_LOG] } = options;
  const declarations = registered.map(({ declaration }) => declaration);
  const cards = createCards({ ...options, capabilities, extensions: declarations, options: options.cards });
  const negotiate = createNegotiation(declarations);
  const extendedCard: ProtocolDeps['extendedCard'] = (context) => cards.extended(context);
  const deps: ProtocolDeps = { service, registry, capabilities, negotiate, extendedCard };
  const v1 = createV1Dialect(deps);
  const v03 = createV03Dialect({ ...deps, extendedCard: (context) => cards.extendedV03(context) });
  const v01 = createV01Dialect(deps);
  const extensions = joinExtensions(registered, deps, [v1, v03, v01]);
  const extensionRoutes = registered.flatMap(({ routes = [] }) => routes);
  // 0.1 shares `tasks/get`, `tasks/cancel` and `tasks/resubscribe` with 0.3: who named the task tells them apart.
  const settle: Settle = async (_candidates, params, context) =>
    (await isAboutNamed(service, params, context)) ? v01 : v03;
  const rpc = createRpc([v1, v03, v01, extensions], settle);
  return { capabilities, cards, v1, v03, v01, extensions, extensionRoutes, negotiate, rpc };
};
