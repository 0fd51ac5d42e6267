/**
 * Sealane inside a plain `node:http` server, beside routes of your own.
 *
 *     npx node --conditions=sealane:source examples/embed-node-http.ts
 *
 * With `--once` it asks itself a question and ends.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { createEchoAgent, createSealane } from 'sealane';

await using sealane = await createSealane({
  store: 'memory',
  agents: { echo: createEchoAgent() },
  adminKey: 'demo-key',
});

const server = createServer((request, response) => {
  if (request.url === '/hello') response.end('a route of your own\n');
  else sealane.handler(request, response);
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
console.log(`listening on ${url}`);

if (process.argv.includes('--once')) {
  console.log((await (await fetch(`${url}/hello`)).text()).trim());
  const response = await fetch(`${url}/a2a`, {
    method: 'POST',
    headers: { authorization: 'Bearer demo-key', 'content-type': 'application/json' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'SendMessage',
      params: { message: { messageId: '1', role: 'ROLE_USER', parts: [{ text: 'hello' }] } },
    }),
  });
  const { result } = (await response.json()) as { result: { task: { status: { state: string } } } };
  console.log(`the task is ${result.task.status.state}`);
} else await once(process, 'SIGINT');

server.close();
server.closeAllConnections();
