import type { IncomingMessage, ServerResponse } from 'node:http';

const HEADERS = [
  'authorization',
  'content-type',
  'a2a-version',
  'a2a-extensions',
  'x-a2a-extensions',
  'idempotency-key',
  'last-event-id',
  'traceparent',
  'sealane-ancestors',
];

/** Tells a browser that this origin, already checked, may read the answer; answers its preflight on the spot. */
export const addCors = (request: IncomingMessage, response: ServerResponse, origin: string): 'answered' | 'marked' => {
  response.setHeader('access-control-allow-origin', origin);
  response.setHeader(
    'access-control-expose-headers',
    'a2a-extensions, x-a2a-extensions, retry-after, www-authenticate, etag',
  );
  response.setHeader('vary', 'Origin');
  if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) return 'marked';
  response.writeHead(204, {
    'access-control-allow-methods': 'GET, POST, DELETE',
    'access-control-allow-headers': HEADERS.join(', '),
    'access-control-max-age': '600',
  });
  response.end();
  return 'answered';
};
