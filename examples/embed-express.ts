/**
 * Sealane mounted in an Express app under `/tasks`. Express takes that prefix off the path; `publicUrl` tells Sealane
 * where clients find it, for the card.
 *
 *     npx node --conditions=sealane:source examples/embed-express.ts
 *
 * With `--once` it asks itself a question and ends.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

import express from 'express';
import { createEchoAgent, createSealane } from 'sealane';

const app = express();
const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

await using sealane = await createSealane({
  store: 'memory',
  agents: { echo: { connector: createEchoAgent(), public: true } },
  adminKey: 'demo-key',
  http: { publicUrl: `${url}/tasks` },
});
app.get('/hello', (_request, response) => void response.send('a route of your own'));
// Other routes may parse bodies as they like: what has been parsed is taken as it is.
app.use(express.json());
app.use('/tasks', sealane.handler);
console.log(`listening on ${url}/tasks`);

if (process.argv.includes('--once')) {
  console.log(await (await fetch(`${url}/hello`)).text());
  const card = (await (await fetch(`${url}/tasks/.well-known/agent-card.json`)).json()) as {
    supportedInterfaces: { url: string }[];
  };
  const endpoint = card.supportedInterfaces[0]?.url ?? '';
  console.log(`the card says ${endpoint.replace(url, '')}`);
  const response = await fetch(endpoint, {
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
