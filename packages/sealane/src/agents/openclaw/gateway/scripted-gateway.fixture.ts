import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** A request as the script sees it. */
export interface ScriptedRequest {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** Counts the connections from 1. */
  readonly connection: number;
}

export interface ScriptedReply {
  readonly payload?: unknown;
  readonly error?: { readonly code: string; readonly message: string };
  /** Fields that the frame of the answer has beside its own, or in their place. */
  readonly frame?: object;
  /** A second answer, as the `agent` method gives it. */
  readonly final?: unknown;
  /** Events that go out between the two. */
  readonly events?: readonly object[];
  /** The connection ends instead of an answer, or after the first one. */
  readonly breaks?: 'before' | 'after';
}

/** A Gateway that does what a test says: for moments that the real one cannot be brought to on demand. */
export interface ScriptedGateway extends AsyncDisposable {
  readonly url: string;
  readonly requests: readonly ScriptedRequest[];
  of(method: string): readonly ScriptedRequest[];
  /** Tells everybody that something happened in a run. */
  push(payload: object): void;
}

export const openScriptedGateway = async (
  script: (request: ScriptedRequest) => ScriptedReply | undefined,
  bootIdOf: (connection: number) => string = () => 'boot-1',
): Promise<ScriptedGateway> => {
  const requests: ScriptedRequest[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer();
  server.on('upgrade', ({ headers }, socket: Socket) => {
    connections += 1;
    const connection = connections;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    socket.write(acceptance(headers['sec-websocket-key'] ?? ''));
    const send = (frame: object): void => void socket.write(textFrame(JSON.stringify(frame)));
    const answer = (id: string, request: ScriptedRequest): void => {
      const reply = replyTo(request, script, bootIdOf);
      if (reply.breaks === 'before') return void socket.destroy();
      const { payload, error, frame } = reply;
      send({ type: 'res', id, ok: error === undefined, payload, error, ...frame });
      for (const event of reply.events ?? []) send({ type: 'event', event: 'agent', payload: event });
      if (reply.final !== undefined) send({ type: 'res', id, ok: true, payload: reply.final });
      if (reply.breaks === 'after') socket.end();
    };
    readTexts(socket, (text) => {
      const { id, method, params } = JSON.parse(text) as {
        id: string;
        method: string;
        params: Record<string, unknown>;
      };
      const request = { method, params, connection };
      requests.push(request);
      answer(id, request);
    });
    send({ type: 'event', event: 'connect.challenge', payload: { nonce: 'n' } });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `ws://127.0.0.1:${port}`,
    requests,
    of: (method) => requests.filter((request) => request.method === method),
    push: (payload) => {
      for (const socket of sockets) socket.write(textFrame(JSON.stringify({ type: 'event', event: 'agent', payload })));
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

/** What a Gateway answers where a script says nothing: a session in the mode that was asked for, and no runs. */
const replyTo = (
  request: ScriptedRequest,
  script: (request: ScriptedRequest) => ScriptedReply | undefined,
  bootIdOf: (connection: number) => string,
): ScriptedReply =>
  script(request) ?? DEFAULTS[request.method]?.(request, bootIdOf(request.connection)) ?? { payload: {} };

const DEFAULTS: Readonly<Record<string, (request: ScriptedRequest, bootId: string) => ScriptedReply>> = {
  connect: (_, bootId) => ({ payload: { server: { version: 'scripted', bootId } } }),
  'config.get': () => ({ payload: { config: { tools: { sessions: { visibility: 'self' } } } } }),
  'sessions.describe': () => ({ payload: { session: null } }),
  'sessions.patch': ({ params }) => ({
    payload: { ok: true, entry: { sessionId: 'session-1', permissionMode: params['permissionMode'] } },
  }),
  'agent.wait': () => ({ payload: { status: 'timeout' } }),
  'chat.history': () => ({ payload: { messages: [] } }),
  'exec.approval.list': () => ({ payload: [] }),
  'chat.abort': () => ({ payload: { aborted: false } }),
};

const acceptance = (key: string): string =>
  [
    'HTTP/1.1 101 Switching Protocols',
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Accept: ${createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')}`,
    '\r\n',
  ].join('\r\n');

const textFrame = (text: string): Buffer => {
  const body = Buffer.from(text);
  const { length } = body;
  if (length < 126) return Buffer.concat([Buffer.from([0x81, length]), body]);
  if (length < 65_536) return Buffer.concat([Buffer.from([0x81, 126, length >> 8, length & 255]), body]);
  const head = Buffer.alloc(10);
  head.set([0x81, 127]);
  head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, body]);
};

/** Whole text frames of a client, which are masked and shorter than 64 KiB here; its close ends the connection. */
const readTexts = (socket: Socket, onText: (text: string) => void): void => {
  let rest = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const short = (rest[1] ?? 0) & 127;
      const start = short === 126 ? 4 : 2;
      const length = short === 126 && rest.length >= 4 ? rest.readUInt16BE(2) : short;
      if (rest.length < start + 4 + length) return;
      const mask = rest.subarray(start, start + 4);
      const body = rest.subarray(start + 4, start + 4 + length).map((byte, index) => byte ^ (mask[index % 4] ?? 0));
      const kind = (rest[0] ?? 0) & 15;
      rest = rest.subarray(start + 4 + length);
      if (kind === 8) return void socket.end();
      if (kind === 1) onText(Buffer.from(body).toString('utf8'));
    }
  });
};
