import type { HttpDeps, HttpOptions } from '../http-deps.ts';
import type { JsonSender } from '../json-reply.ts';
import type { createRouteAdder } from '../method-routes.ts';

/** What a file of operator's routes is given. */
export interface AdminScope {
  readonly add: ReturnType<typeof createRouteAdder>;
  readonly send: JsonSender;
  readonly deps: HttpDeps;
  readonly options: HttpOptions;
}
