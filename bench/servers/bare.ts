/**
 * The least that a JSON-RPC server on Node can do: read the body, parse it, answer with an object of the usual size.
 * It keeps nothing and decides nothing. What it reaches is what the machine and the client allow.
 */
import { createServer } from 'node:http';

interface Call {
  readonly id: number | string;
  readonly params: {
    readonly message: { readonly messageId: string; readonly parts: readonly { readonly text: string }[] };
  };
}

const answer = ({ id, params: { message } }: Call): unknown => ({
  jsonrpc: '2.0',
  id,
  result: {
    task: {
      id: '01890a5d-ac96-774b-bcce-b302099a8057',
      contextId: '01890a5d-ac96-774b-bcce-b302099a8058',
      status: { state: 'TASK_STATE_COMPLETED', timestamp: new Date().toISOString() },
      artifacts: [{ artifactId: '01890a5d-ac96-774b-bcce-b302099a8059', name: 'echo', parts: message.parts }],
      history: [message],
    },
  },
});

const port = Number(process.argv[2]);

createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = JSON.stringify(answer(JSON.parse(Buffer.concat(chunks).toString()) as Call));
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
    response.end(body);
  });
}).listen(port, '127.0.0.1', () => console.log(`bare ready on http://127.0.0.1:${port}`));
