import { z } from 'zod';

import { GatewayError } from './gateway-error.ts';
import { frame, hello, parseFrame, POLICY } from './gateway-frames.ts';

/** What the Gateway sends without being asked. */
export interface GatewayEvent {
  readonly event: string;
  readonly payload?: unknown;
}

export interface RequestOptions {
  readonly timeoutMs?: number;
  /**
   * For methods that answer twice, now and when the work is over: gets the second answer. It is forgotten when the
   * connection ends.
   */
  readonly onFinal?: (final: FinalAnswer) => void;
  readonly traceparent?: string;
}

export type FinalAnswer =
  | { readonly ok: true; readonly payload: unknown }
  | { readonly ok: false; readonly error: GatewayError; readonly payload: unknown };

/** One connection to a Gateway that has let us in. */
export interface GatewaySocket {
  /** Changes when the Gateway is started anew. */
  readonly bootId: string;
  readonly version: string;
  /** What it lets us do, if it says so. */
  readonly scopes: readonly string[] | undefined;
  readonly openedAt: number;
  request(method: string, params: object, options?: RequestOptions): Promise<unknown>;
  /** Resolves with the reason when the connection is gone. To be let go of: a connection may live for months. */
  whenClosed(): { readonly promise: Promise<GatewayError> } & Disposable;
  close(): void;
}

export interface SocketOptions {
  readonly url: string;
  readonly token: string;
  readonly scopes: readonly string[];
  /** What we want to hear of, or take part in. */
  readonly caps?: readonly string[];
  readonly version: string;
  readonly connectTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly onEvent: (event: GatewayEvent) => void;
  /** Ends a try to connect; a connection that is there stays. */
  readonly giveUp?: AbortSignal;
}

const PROTOCOL = 4;

/** The Gateway lets itself be heard at an interval; after so many of them in silence it is gone. */
const SILENT_TICKS = 3;

interface Waiting {
  readonly resolve: (payload: unknown) => void;
  readonly reject: (error: GatewayError) => void;
  readonly timer: NodeJS.Timeout;
  readonly onFinal: RequestOptions['onFinal'];
  isAnswered: boolean;
}

/** Connects, answers the Gateway's challenge and resolves when it has let us in. */
export const openGatewaySocket = async (options: SocketOptions): Promise<GatewaySocket> => {
  const { url, onEvent } = options;
  const waiting = new Map<string, Waiting>();
  const closing = new Set<(why: GatewayError) => void>();
  let requests = 0;
  let end: GatewayError | undefined;
  let heardAt = performance.now();
  let { maxPayload } = POLICY;
  const socket = new WebSocket(url);

  const finish = (why: GatewayError): void => {
    if (end) return;
    end = why;
    for (const { reject, timer } of waiting.values()) {
      clearTimeout(timer);
      reject(why);
    }
    waiting.clear();
    for (const resolve of closing) resolve(why);
    closing.clear();
    socket.close();
  };

  const whenClosed: GatewaySocket['whenClosed'] = () => {
    const { promise, resolve } = Promise.withResolvers<GatewayError>();
    if (end) resolve(end);
    else closing.add(resolve);
    return { promise, [Symbol.dispose]: () => void closing.delete(resolve) };
  };

  const request: GatewaySocket['request'] = (
    method,
    params,
    { timeoutMs = options.requestTimeoutMs, onFinal, traceparent } = {},
  ) =>
    new Promise((resolve, reject) => {
      if (end) return reject(end);
      requests += 1;
      const id = String(requests);
      const text = JSON.stringify({
        type: 'req',
        id,
        method,
        params,
        ...(traceparent !== undefined && { traceparent }),
      });
      if (Buffer.byteLength(text) > maxPayload) return reject(tooLarge(maxPayload));
      const timer = setTimeout(() => {
        // Whoever does not answer is not there: what was asked is found out over a new connection.
        finish(
          new GatewayError('unreachable', `The OpenClaw Gateway at ${url} did not answer within ${timeoutMs} ms.`),
        );
      }, timeoutMs);
      waiting.set(id, { resolve, reject, timer, onFinal, isAnswered: false });
      socket.send(text);
    });

  const answer = ({ id, ok, payload, error }: Extract<z.output<typeof frame>, { type: 'res' }>): void => {
    const waits = waiting.get(id);
    if (!waits) return;
    // A Gateway on its way out answers nothing any more; its successor will.
    const isLeaving = error?.details?.reason === 'gateway-restarting';
    const code = isLeaving ? 'unreachable' : (error?.code ?? 'UNAVAILABLE');
    const failure = new GatewayError(code, error?.message ?? 'no reason given', error?.details?.code);
    clearTimeout(waits.timer);
    if (waits.isAnswered) waits.onFinal?.(ok ? { ok, payload } : { ok, payload, error: failure });
    else if (ok) waits.resolve(payload);
    else waits.reject(failure);
    if (waits.isAnswered || !ok || !waits.onFinal) waiting.delete(id);
    waits.isAnswered = true;
  };

  const challenged = new Promise<void>((resolve) => {
    socket.addEventListener('message', ({ data }) => {
      heardAt = performance.now();
      const parsed = frame.safeParse(parseFrame(data));
      if (!parsed.success) return;
      if (parsed.data.type === 'res') answer(parsed.data);
      else if (parsed.data.event === 'connect.challenge') resolve();
      else onEvent(parsed.data);
    });
  });
  socket.addEventListener('error', () =>
    finish(new GatewayError('unreachable', `The OpenClaw Gateway at ${url} cannot be reached. Is it running?`)),
  );
  socket.addEventListener('close', ({ code, reason }) =>
    finish(
      new GatewayError(
        'unreachable',
        `The OpenClaw Gateway at ${url} closed the connection (${code}${reason && `, ${reason}`}).`,
      ),
    ),
  );

  const onGiveUp = (): void => finish(closedByUs());
  options.giveUp?.addEventListener('abort', onGiveUp, { once: true });
  const late = setTimeout(
    () =>
      finish(
        new GatewayError(
          'unreachable',
          `The OpenClaw Gateway at ${url} did not let us in within ${options.connectTimeoutMs} ms.`,
        ),
      ),
    options.connectTimeoutMs,
  );
  try {
    await Promise.race([challenged, whenClosed().promise.then((error) => Promise.reject(error))]);
    const { server, policy, auth } = hello.parse(
      await request('connect', connectParams(options), { timeoutMs: options.connectTimeoutMs }),
    );
    maxPayload = policy.maxPayload;
    // A machine that lost its power says no goodbye.
    const silenceMs = policy.tickIntervalMs * SILENT_TICKS;
    const watchdog = setInterval(() => {
      if (performance.now() - heardAt > silenceMs)
        finish(new GatewayError('unreachable', `The OpenClaw Gateway at ${url} fell silent.`));
    }, policy.tickIntervalMs).unref();
    void whenClosed().promise.then(() => clearInterval(watchdog));
    return {
      bootId: server.bootId,
      version: server.version,
      scopes: auth?.scopes,
      openedAt: performance.now(),
      request,
      whenClosed,
      close: () => finish(closedByUs()),
    };
  } catch (error) {
    const why = entryError(error, url);
    finish(why);
    throw why;
  } finally {
    clearTimeout(late);
    options.giveUp?.removeEventListener('abort', onGiveUp);
  }
};

const connectParams = ({ token, scopes, caps = ['tool-events'], version }: SocketOptions): object => ({
  minProtocol: PROTOCOL,
  maxProtocol: PROTOCOL,
  client: { id: 'gateway-client', version, platform: process.platform, mode: 'backend' },
  role: 'operator',
  scopes,
  caps,
  auth: { token },
});

const closedByUs = (): GatewayError => new GatewayError('unreachable', 'The connection was closed.');

const tooLarge = (maxPayload: number): GatewayError =>
  new GatewayError('TOO_LARGE', `it takes at most ${maxPayload} bytes at once. Send a link to what is large.`);

const entryError = (error: unknown, url: string): GatewayError => {
  if (!(error instanceof GatewayError)) {
    return new GatewayError(
      'refused',
      `What answers at ${url} is no OpenClaw Gateway that we understand: ${error instanceof z.ZodError ? z.prettifyError(error) : String(error)}`,
    );
  }
  if (error.code === 'unreachable') return error;
  if (error.detail?.startsWith('AUTH_') || /unauthorized|token/i.test(error.message)) {
    return new GatewayError(
      'refused',
      `The OpenClaw Gateway at ${url} does not accept the token. Set the agent's token to its gateway.auth.token.`,
      error.detail?.startsWith('AUTH_') ? error.detail : 'AUTH_REFUSED',
    );
  }
  // A Gateway that is starting or stopping says so in its own words.
  if (error.code === 'UNAVAILABLE')
    return new GatewayError('unreachable', `The OpenClaw Gateway at ${url} is not ready: ${error.message}`);
  return new GatewayError(
    'refused',
    `The OpenClaw Gateway at ${url} refused the connection: ${error.message}`,
    error.detail,
  );
};
