/** The bearer key that every system gets; only Sealane looks at it. */
export const BENCH_KEY = 'bench-key-0123456789abcdef0123456789abcdef';

/** The whole HTTP request of one JSON-RPC call, as text. */
export const rpcRequest = (method: string, params: unknown, id: number | string = 1): string =>
  httpRequest(JSON.stringify({ jsonrpc: '2.0', id, method, params }));

/** The same call as a REST request. */
export const restRequest = (path: string, body: unknown): string => httpRequest(JSON.stringify(body), path);

/** `body` must be ASCII: its length in characters is its length in bytes. */
const httpRequest = (body: string, path = '/'): string => headOf(body.length, path) + body;

const headOf = (length: number, path: string): string =>
  [
    `POST ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    `Authorization: Bearer ${BENCH_KEY}`,
    'A2A-Version: 1.0',
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    `Content-Length: ${length}`,
    '\r\n',
  ].join('\r\n');

export const userMessage = (messageId: string, text: string): object => ({
  messageId,
  role: 'ROLE_USER',
  parts: [{ text }],
});

/**
 * Makes numbered variants of one request. The number has a fixed width, so the request is serialised once and each
 * variant is a concatenation: the client's own cost must not show in the results.
 */
export const createRequestTemplate = (make: (number: string) => string): ((n: number) => string) => {
  const pieces = make(PLACEHOLDER).split(PLACEHOLDER);
  return (n) => pieces.join(numberText(n));
};

/** The fixed-width text of a request's number. */
export const numberText = (n: number): string => String(n).padStart(PLACEHOLDER.length, '0');

const PLACEHOLDER = '##########';
