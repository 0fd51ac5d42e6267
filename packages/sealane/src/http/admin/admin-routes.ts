import type { FastifyInstance } from 'fastify';

import { asAdminError } from '../error-replies.ts';
import type { HttpDeps, HttpOptions } from '../http-deps.ts';
import type { JsonSender } from '../json-reply.ts';
import { createRouteAdder } from '../method-routes.ts';
import type { AdminScope } from './admin-scope.ts';
import { addApprovalRoutes } from './approval-routes.ts';
import { addBackupRoute } from './backup-route.ts';
import { addCardKeyRoutes } from './card-key-routes.ts';
import { addExportRoutes } from './export-routes.ts';
import { addInfoRoutes } from './info-routes.ts';
import { addKeyRoutes } from './key-routes.ts';
import { addLaneRoutes } from './lane-routes.ts';
import { addTaskRoutes } from './task-routes.ts';

/** The operator's routes, under `/admin`. Who gets here holds an admin key. */
export const addAdminRoutes = (app: FastifyInstance, deps: HttpDeps, options: HttpOptions, send: JsonSender): void => {
  const scope: AdminScope = { add: createRouteAdder(app, send, asAdminError), send, deps, options };
  addInfoRoutes(scope);
  addTaskRoutes(scope);
  addExportRoutes(scope);
  addLaneRoutes(scope);
  addApprovalRoutes(scope);
  addKeyRoutes(scope);
  addCardKeyRoutes(scope);
  addBackupRoute(scope);
};
