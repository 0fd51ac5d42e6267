import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** One call of the model, as the model saw it. */
export interface ModelCall {
  /** The last text that a person (or a peer) wrote, without what OpenClaw puts around it. */
  readonly text: string;
  /** How many such texts the conversation has by now. */
  readonly turn: number;
  /** Names of the tools that were offered. */
  readonly tools: readonly string[];
  /** Results of the tools that this turn has called so far, oldest first. */
  readonly toolResults: readonly string[];
  /** Pieces of the last message that are no text, such as images. */
  readonly attachments: number;
  readonly startedAt: number;
  /** OpenClaw dropped the connection before the answer was complete. */
  aborted: boolean;
  ended: boolean;
}

/** A model server on loopback that does what the message tells it to. */
export interface FakeModel extends AsyncDisposable {
  /** The base URL for an OpenAI-compatible provider. */
  readonly url: string;
  readonly calls: readonly ModelCall[];
  /** Calls whose text contains this. */
  about(text: string): readonly ModelCall[];
  close(): Promise<void>;
}

interface ChatMessage {
  readonly role: string;
  readonly content: string | readonly { readonly type: string; readonly text?: string }[] | null;
}

interface ChatRequest {
  readonly stream?: boolean;
  readonly messages: readonly ChatMessage[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

interface Answer {
  readonly text: string;
  readonly tool?: { readonly name: string; readonly args: string };
  /** What it says before the tool call. */
  readonly preamble?: string;
  /** Streams for this long before the answer. */
  readonly slowMs: number;
}

const USAGE = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
const CHUNK_MS = 250;

/**
 * Words in a message that make the model do something:
 *
 * - `SLOW<n>` streams `tick 1 `, `tick 2 `, … four a second for n seconds, then answers;
 * - `TOOL:name {json}` on a line of its own calls a tool; several lines call them one after another, and the answer
 *   then shows their results;
 * - `SAY:words` on a line of its own says them before each tool call, in the same breath;
 * - `FAIL<status>` answers with that HTTP status;
 * - `MEDIA:<place>` on a line of its own is said back, which OpenClaw takes for a file to send.
 *
 * Anything else is said back as `ECHO(turn n): text`.
 */
export const startFakeModel = async (port = 0): Promise<FakeModel> => {
  const calls: ModelCall[] = [];
  const server = createServer((request, response) => {
    answer(request, response, calls).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const { port: bound } = server.address() as AddressInfo;
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return {
    url: `http://127.0.0.1:${bound}/v1`,
    calls,
    about: (text) => calls.filter((call) => call.text.includes(text)),
    close,
    [Symbol.asyncDispose]: close,
  };
};

const answer = async (request: IncomingMessage, response: ServerResponse, calls: ModelCall[]): Promise<void> => {
  if (request.url?.endsWith('/models')) return sendJson(response, 200, { object: 'list', data: [{ id: 'echo' }] });
  if (!request.url?.endsWith('/chat/completions')) return sendJson(response, 404, { error: { message: 'not here' } });
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const chat = JSON.parse(Buffer.concat(chunks).toString('utf8')) as ChatRequest;
  const { call, answer: said, status } = decide(chat);
  calls.push(call);
  const gone = new AbortController();
  response.on('close', () => {
    call.aborted = !call.ended;
    gone.abort();
  });
  if (status !== undefined) {
    call.ended = true;
    return sendJson(response, status, { error: { message: `failed with ${status} as asked`, type: 'fake' } });
  }
  if (chat.stream !== true) {
    call.ended = true;
    return sendJson(response, 200, wholeAnswer(said));
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const write = (delta: object, finish: string | null = null): void => {
    response.write(`data: ${JSON.stringify(chunkOf(delta, finish))}\n\n`);
  };
  write({ role: 'assistant', content: '' });
  for (let tick = 1; tick * CHUNK_MS <= said.slowMs && !gone.signal.aborted; tick += 1) {
    write({ content: `tick ${tick} ` });
    await delay(CHUNK_MS, undefined, { signal: gone.signal }).catch(() => undefined);
  }
  if (gone.signal.aborted) return;
  if (said.tool && said.preamble !== undefined) write({ content: said.preamble });
  if (said.tool)
    write({
      tool_calls: [{ index: 0, id: `call_${calls.length}`, type: 'function', function: functionOf(said.tool) }],
    });
  else write({ content: said.text });
  write({}, said.tool ? 'tool_calls' : 'stop');
  response.write(`data: ${JSON.stringify({ ...chunkOf({}, null), choices: [], usage: USAGE })}\n\n`);
  call.ended = true;
  response.end('data: [DONE]\n\n');
};

const decide = (chat: ChatRequest): { call: ModelCall; answer: Answer; status?: number } => {
  const users = chat.messages.map((message, at) => ({ message, at })).filter(({ message }) => isRealUser(message));
  const last = users.at(-1);
  const text = last ? realText(last.message) : '';
  const after = last ? chat.messages.slice(last.at + 1) : [];
  const toolResults = after.filter(({ role }) => role === 'tool').map((message) => plainText(message));
  const call: ModelCall = {
    text,
    turn: users.length,
    tools: (chat.tools ?? []).map((tool) => tool.function.name),
    toolResults,
    attachments:
      typeof last?.message.content === 'object'
        ? (last.message.content ?? []).filter(({ type }) => type !== 'text').length
        : 0,
    startedAt: Date.now(),
    aborted: false,
    ended: false,
  };
  const [, status] = /\bFAIL(\d{3})\b/.exec(text) ?? [];
  const tools = [...text.matchAll(/^TOOL:(\S+) (\{.*\})\s*$/gm)];
  const next = tools[toolResults.length];
  const [, preamble] = /^SAY:(.+)$/m.exec(text) ?? [];
  const [, seconds] = /\bSLOW(\d+)\b/.exec(text) ?? [];
  const said = tools.length > 0 ? `RESULTS: ${toolResults.join(' | ')}` : `ECHO(turn ${users.length}): ${text}`;
  const media = /^MEDIA:.*$/m.exec(text)?.[0];
  return {
    call,
    answer: {
      text: media === undefined ? said : `Here it is.\n${media}`,
      slowMs: toolResults.length === 0 ? Number(seconds ?? 0) * 1000 : 0,
      ...(next && { tool: { name: next[1] ?? '', args: next[2] ?? '{}' } }),
      ...(preamble !== undefined && { preamble }),
    },
    ...(status !== undefined && { status: Number(status) }),
  };
};

const plainText = ({ content }: ChatMessage): string =>
  typeof content === 'string' ? content : (content ?? []).map(({ text }) => text ?? '').join('\n');

/** OpenClaw adds messages of its own in the user's name, and a time before what the user wrote. */
const isRealUser = (message: ChatMessage): boolean =>
  message.role === 'user' && !plainText(message).trimStart().startsWith('<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>');

const realText = (message: ChatMessage): string =>
  plainText(message)
    .replace(/<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>[\s\S]*?<<<END_OPENCLAW_INTERNAL_CONTEXT>>>/g, '')
    .replace(/\n+Runtime: agent=[^\n]*$/, '')
    .replace(/^\s*\[\w{3} \d{4}-\d\d-\d\d \d\d:\d\d[^\]]*\] /, '')
    .trim();

const functionOf = (tool: NonNullable<Answer['tool']>): object => ({ name: tool.name, arguments: tool.args });

const chunkOf = (delta: object, finish: string | null): object => ({
  id: 'chatcmpl-fake',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'echo',
  choices: [{ index: 0, delta, finish_reason: finish }],
});

const wholeAnswer = ({ text, tool }: Answer): object => ({
  id: 'chatcmpl-fake',
  object: 'chat.completion',
  created: 1,
  model: 'echo',
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: tool ? null : text,
        ...(tool && { tool_calls: [{ id: 'call_1', type: 'function', function: functionOf(tool) }] }),
      },
      finish_reason: tool ? 'tool_calls' : 'stop',
    },
  ],
  usage: USAGE,
});

const sendJson = (response: ServerResponse, status: number, body: object): void => {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
};
