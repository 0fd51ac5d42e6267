import type { IncomingMessage, ServerResponse } from 'node:http';

import type { FastifyInstance } from 'fastify';

/**
 * The app as a plain request listener, for `node:http`, Express (`server.use('/sealane', handler)`) or another
 * Fastify. Requests that come before the app is ready wait for it.
 */
export const nodeHandler = (app: FastifyInstance): ((request: IncomingMessage, response: ServerResponse) => void) => {
  let isReady = false;
  const ready = app.ready().then(() => {
    isReady = true;
  });
  return (request, response) => {
    if (isReady) app.routing(request, response);
    else {
      ready.then(
        () => app.routing(request, response),
        (error: unknown) => response.destroy(error instanceof Error ? error : new Error(String(error))),
      );
    }
  };
};
