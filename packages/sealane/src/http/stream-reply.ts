import type { FastifyReply, FastifyRequest } from 'fastify';

import type { SealaneError } from '#domain';
import type { StreamItem } from '#engine';

import type { Call, CallDeps } from './call-context.ts';
import { patternOf } from './json-reply.ts';
import { sseFrame, writeSse } from './sse.ts';

/** How a binding writes a stream. */
export interface StreamWording {
  readonly items: AsyncIterable<StreamItem>;
  /** The data of one event. */
  readonly data: (item: StreamItem) => string;
  /** The frame that tells the reader that the stream broke. */
  readonly failure: (error: SealaneError) => string;
  readonly headers: Record<string, string> | undefined;
}

/** Answers a call with an event stream, and resolves when it is over. */
export const writeStream = async (
  { options, metrics, unread }: CallDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  { context, explain, admit, watchKey }: Call,
  { items, data, failure, headers }: StreamWording,
): Promise<void> => {
  reply.hijack();
  metrics.streamOpened();
  using _watching = watchKey();
  using _held = unread.hold(context.caller.keyId, reply.raw);
  try {
    await writeSse(reply.raw, framesOf(items, data), { ...options, headers, admit }, context.signal, (thrown) =>
      failure(explain(thrown)),
    );
  } finally {
    metrics.streamClosed();
    metrics.answered(patternOf(request), 200, performance.now() - request.beganAt);
  }
};

async function* framesOf(items: AsyncIterable<StreamItem>, data: (item: StreamItem) => string): AsyncGenerator<string> {
  for await (const item of items) yield sseFrame(numberOf(item), data(item));
}

/** A direct reply is no event of a log, so there is nothing to resume from. */
const numberOf = (item: StreamItem): number | undefined => (item.kind === 'message' ? undefined : item.seq);
