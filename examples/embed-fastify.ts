/**
 * Sealane mounted in a Fastify app of your own under `/tasks`. Fastify leaves the path as it is, so Sealane is told the
 * prefix; and it must not read the bodies that Sealane wants to read.
 *
 *     npx node --conditions=sealane:source examples/embed-fastify.ts
 *
 * With `--once` it asks itself a question and ends.
 */
import { once } from 'node:events';

import Fastify from 'fastify';
import { createEchoAgent, createSealane } from 'sealane';

await using sealane = await createSealane({
  store: 'memory',
  agents: { echo: { connector: createEchoAgent(), public: true } },
  adminKey: 'demo-key',
  http: { prefix: '/tasks' },
});

const app = Fastify();
app.get('/hello', async () => 'a route of your own');
app.register(async (scope) => {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
  scope.all('/tasks/*', (request, reply) => {
    reply.hijack();
    sealane.handler(request.raw, reply.raw);
  });
});
const url = await app.listen({ host: '127.0.0.1', port: 0 });
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

await app.close();
