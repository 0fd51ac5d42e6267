import { type ClientHttp2Session, connect, constants, type IncomingHttpHeaders } from 'node:http2';

import { ANSWER_WITHIN_MS, type GrpcAnswer, type Outcome } from './answer.ts';
import type { GrpcRequest } from './fuzz-request.ts';

/** One HTTP/2 connection and calls on it, without a client of gRPC that would refuse to send what is wrong. */
export interface GrpcClient extends Disposable {
  ask(request: GrpcRequest): Promise<Outcome>;
}

export const createGrpcClient = (address: string): GrpcClient => {
  let kept: ClientHttp2Session | undefined;
  const session = (): ClientHttp2Session => {
    if (kept && !kept.closed && !kept.destroyed) return kept;
    kept = connect(`http://${address}`);
    kept.on('error', () => undefined);
    return kept;
  };
  return {
    ask: ({ path, headers, frames }) => {
      const { promise, resolve } = Promise.withResolvers<Outcome>();
      const stream = session().request({
        ':method': 'POST',
        ':path': path,
        'content-type': 'application/grpc',
        te: 'trailers',
        ...headers,
      });
      const chunks: Buffer[] = [];
      const all: IncomingHttpHeaders = {};
      const finish = (outcome: Outcome): void => {
        clearTimeout(timer);
        resolve(outcome);
        stream.close(constants.NGHTTP2_CANCEL);
      };
      const timer = setTimeout(
        () => finish({ kind: 'none', why: `no answer within ${ANSWER_WITHIN_MS} ms` }),
        ANSWER_WITHIN_MS,
      );
      // Whoever has seen everything already is told nothing, not even headers, until something happens.
      if (isLong(path) && headers['last-event-id'] !== undefined) {
        const silence = setTimeout(() => {
          if (chunks.length === 0) finish({ kind: 'grpc', answer: answerOf({ ':status': '200' }, Buffer.alloc(0)) });
        }, SILENT_MS);
        stream.on('close', () => clearTimeout(silence));
      }
      stream.on('response', (given) => Object.assign(all, given));
      stream.on('trailers', (given) => Object.assign(all, given));
      stream.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        // The first message is enough: of a stream there may be no other for a long time.
        const bytes = Buffer.concat(chunks);
        if (isLong(path) && bytes.length >= 5 && bytes.length >= 5 + bytes.readUInt32BE(1)) {
          finish({ kind: 'grpc', answer: answerOf(all, bytes) });
        }
      });
      stream.on('error', () => undefined);
      // The answer may be whole while the request is not: whoever refuses one that is too long does not read it all.
      stream.on('end', () => {
        if (all['grpc-status'] !== undefined) finish({ kind: 'grpc', answer: answerOf(all, Buffer.concat(chunks)) });
      });
      stream.on('close', () => {
        if (all[':status'] === undefined) finish({ kind: 'none', why: 'the call was closed without an answer' });
        else finish({ kind: 'grpc', answer: answerOf(all, Buffer.concat(chunks)) });
      });
      stream.end(frames);
      return promise;
    },
    [Symbol.dispose]: () => kept?.destroy(),
  };
};

const SILENT_MS = 1000;

const isLong = (path: string): boolean => /Streaming|Subscri/.test(path);

const answerOf = (headers: IncomingHttpHeaders, data: Buffer): GrpcAnswer => {
  const status = headers['grpc-status'];
  const details = String(headers['grpc-status-details-bin'] ?? '');
  const message = decodeURIComponent(String(headers['grpc-message'] ?? ''));
  return {
    httpStatus: Number(headers[':status']),
    status: status === undefined ? undefined : Number(status),
    message,
    bytes: Buffer.concat([
      data,
      Buffer.from(`\n${JSON.stringify(headers)}\n${message}\n`),
      Buffer.from(details, 'base64'),
    ]),
  };
};
