import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

import { ANSWER_WITHIN_MS, type Outcome } from './answer.ts';
import { type HttpRequest, isResumed } from './fuzz-request.ts';
import { createResponseReader } from './response-reader.ts';

/** One kept connection with one request at a time. It writes what it is given, so that nothing is mended on the way. */
export interface HttpClient extends Disposable {
  ask(request: HttpRequest): Promise<Outcome>;
}

export const createHttpClient = (url: string): HttpClient => {
  const { hostname, port, host } = new URL(url);
  let kept: Socket | undefined;

  const connection = async (): Promise<Socket> => {
    if (kept && !kept.destroyed && kept.readable) return kept;
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    // What breaks between two requests is noticed by the next one.
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    kept = socket;
    return socket;
  };

  return {
    ask: async (request) => {
      const socket = await connection();
      const { promise, resolve } = Promise.withResolvers<Outcome>();
      const reader = createResponseReader({ hasBody: request.method !== 'HEAD', isResumed: isResumed(request) });
      const finish = (outcome: Outcome, isReusable: boolean): void => {
        clearTimeout(timer);
        socket.removeAllListeners('data').removeAllListeners('close');
        if (!isReusable) {
          socket.destroy();
          kept = undefined;
        }
        resolve(outcome);
      };
      const none = (why: string): void => finish({ kind: 'none', why }, false);
      const timer = setTimeout(() => none(`no answer within ${ANSWER_WITHIN_MS} ms`), ANSWER_WITHIN_MS);
      socket.on('data', (chunk) => {
        try {
          const read = reader.push(chunk);
          if (read) finish({ kind: 'http', answer: read.answer }, read.isReusable);
        } catch (error) {
          none(String(error));
        }
      });
      socket.on('close', () => none('the connection was closed without an answer'));
      socket.write(bytesOf(request, host));
      return promise;
    },
    [Symbol.dispose]: () => kept?.destroy(),
  };
};

export const bytesOf = ({ method, path, headers, body }: HttpRequest, host: string): Buffer => {
  const lines = [`${method} ${path} HTTP/1.1`, `Host: ${host}`, ...headers.map(([name, value]) => `${name}: ${value}`)];
  if (body) lines.push(`Content-Length: ${body.length}`);
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  return body ? Buffer.concat([head, body]) : head;
};
