import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';

import type { FastifyInstance } from 'fastify';

import { SealaneError } from '#domain';

/** How many times its limit a body may have and still be read to its end, so that its sender can hear the refusal. */
const PATIENCE = 16;

/**
 * Keeps bodies as text: the bindings want to parse them themselves, and say better what is wrong with them. Every
 * other content type, and none, is refused.
 */
export const addBodyReaders = (app: FastifyInstance, limitBytes: number): void => {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    ['application/json', 'application/a2a+json'],
    async (_request: unknown, payload: IncomingMessage) => {
      checkEncoding(payload);
      return readText(payload, limitBytes);
    },
  );
  app.addContentTypeParser('*', async (_request: unknown, payload: IncomingMessage) => {
    throw notJson(payload.headers['content-type']);
  });
};

const notJson = (type: string | undefined): SealaneError =>
  new SealaneError(
    'content-type-not-supported',
    `${type === undefined ? 'The body has no content type' : `A body of type "${type.slice(0, 100)}" is not taken`}: send JSON with "Content-Type: application/json".`,
  );

const checkEncoding = ({ headers }: IncomingMessage): void => {
  const type = headers['content-type'] ?? '';
  if (type !== 'application/json') {
    const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(type)?.[1]?.toLowerCase();
    if (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8' && charset !== 'us-ascii')
      throw notJson(type);
  }
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new SealaneError(
      'content-type-not-supported',
      'Compressed bodies are not taken: send it without Content-Encoding.',
    );
  }
};

const readText = (payload: IncomingMessage, limitBytes: number): Promise<string> => {
  const parsed = (payload as IncomingMessage & { readonly body?: unknown }).body;
  // The server that we are mounted in has already read the body; what is left of it is its value.
  if (payload.readableEnded) {
    const isText = typeof parsed === 'string' || Buffer.isBuffer(parsed);
    return Promise.resolve(isText ? String(parsed) : (JSON.stringify(parsed) ?? ''));
  }
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const refuse = (): void => {
      const facts = { limit: String(limitBytes) };
      reject(
        new SealaneError('too-large', `The body is larger than ${limitBytes} bytes: send less, or several messages.`, {
          facts,
        }),
      );
    };
    if (Number(payload.headers['content-length']) > limitBytes * PATIENCE) {
      refuse();
      return;
    }
    // Whoever drops its line is no failure of the service, and nobody is there to be told.
    const onBreak = (cause?: Error): void =>
      reject(new SealaneError('invalid-request', 'The body ended too early.', { cause }));
    payload.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= limitBytes) chunks.push(chunk);
      else if (length > limitBytes * PATIENCE) refuse();
    });
    payload.on('end', () => {
      payload.off('close', onBreak);
      if (length > limitBytes) return refuse();
      const bytes = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, length);
      if (isUtf8(bytes)) resolve(bytes.toString('utf8'));
      else reject(new SealaneError('parse-error', 'The body is not UTF-8: JSON must be.'));
    });
    payload.on('error', onBreak);
    payload.on('close', onBreak);
  });
};
