import { SendMessageRequest } from '@a2a-js/sdk';
import { A2AService } from '@a2a-js/sdk/server/grpc';
import { Client, credentials, Metadata } from '@grpc/grpc-js';

import { createTally, type LoadOptions, type LoadResult, summaryOf, within } from './load.ts';
import { BENCH_KEY, numberText } from './requests.ts';

/** A unary gRPC call with numbered variants: bytes in, bytes out, so that the client's codecs do not show. */
export interface GrpcWorkload {
  request(n: number): Buffer;
  fault(n: number, answer: Buffer): string | undefined;
}

/** Calls in flight share so many HTTP/2 connections. */
const CHANNELS = 4;
const ANSWER_TIMEOUT_MS = 15_000;

let nextNumber = 1;

/** SendMessage with a text of fixed width, encoded once: a variant is a copy with its number written over. */
export const grpcSendWorkload = (textOf: (number: string) => string): GrpcWorkload => {
  const placeholder = numberText(0);
  const template = Buffer.from(
    A2AService.sendMessage.requestSerialize(
      SendMessageRequest.fromJSON({
        message: { messageId: `bench-${placeholder}`, role: 'ROLE_USER', parts: [{ text: textOf(placeholder) }] },
      }),
    ),
  );
  const places = [...template.toString('latin1').matchAll(new RegExp(placeholder, 'g'))].map(({ index }) => index);
  return {
    request: (n) => {
      const request = Buffer.from(template);
      for (const place of places) request.write(numberText(n), place, 'latin1');
      return request;
    },
    fault: (n, answer) => (answer.includes(textOf(numberText(n))) ? undefined : 'not the echo of what was sent'),
  };
};

/** The same as `runLoad`, over gRPC: `connections` calls are in flight all the time. */
export const runGrpcLoad = async (workload: GrpcWorkload, options: LoadOptions): Promise<LoadResult> => {
  const address = `127.0.0.1:${options.port}`;
  const clients = Array.from(
    { length: CHANNELS },
    (_, index) => new Client(address, credentials.createInsecure(), { 'grpc.bench.channel': index }),
  );
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${BENCH_KEY}`);
  metadata.set('a2a-version', '1.0');
  const { path } = A2AService.sendMessage;
  const asIs = (bytes: Buffer): Buffer => bytes;

  const tally = createTally();
  const started = performance.now();
  const deadline = started + options.durationMs;

  const keepBusy = (client: Client): Promise<void> =>
    new Promise((resolve) => {
      const next = (): void => {
        const n = nextNumber++;
        const sentAt = performance.now();
        client.makeUnaryRequest(path, asIs, asIs, workload.request(n), metadata, (error, answer) => {
          const now = performance.now();
          tally.answered(now - sentAt, error ? error.message : workload.fault(n, answer ?? Buffer.alloc(0)));
          if (now < deadline) next();
          else resolve();
        });
      };
      next();
    });

  try {
    const loops = Array.from({ length: options.connections }, (_, index) =>
      keepBusy(clients[index % CHANNELS] as Client),
    );
    await within(Promise.all(loops), options.durationMs + ANSWER_TIMEOUT_MS, options.signal);
  } finally {
    for (const client of clients) client.close();
  }
  return summaryOf(tally, performance.now() - started);
};
