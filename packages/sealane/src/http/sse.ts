import type { ServerResponse } from 'node:http';

import { onOneLine, SealaneError } from '#domain';

import { SAFE_HEADERS } from './json-reply.ts';

export interface SseOptions {
  readonly heartbeatMs: number;
  readonly stallMs: number;
  readonly headers?: Record<string, string> | undefined;
  /** Asked before a frame of this length is written; what it throws ends the stream. */
  readonly admit?: (length: number) => void;
}

/** What is written at once at most; beyond it the reader must have taken something before more is fetched. */
const BATCH_LENGTH = 64 * 1024;

/** One event as text, of data that is JSON. It has no line feeds unless somebody formatted it for people. */
export const sseFrame = (id: number | undefined, data: string): string => {
  const line = onOneLine(data);
  const lines = line.includes('\n') ? line.replaceAll('\n', '\ndata: ') : line;
  return id === undefined ? `data: ${lines}\n\n` : `id: ${id}\ndata: ${lines}\n\n`;
};

/**
 * Writes an event stream and resolves when it is over: the frames ended, the reader left, or `signal` aborted. The next
 * frame is fetched only when the connection takes more, so a slow reader costs one batch of memory. Frames that are
 * there at the same time go out in one write, in order.
 *
 * `frames` must end when `signal` aborts. What it throws is told to the reader by `failure`, as the last frame.
 */
export const writeSse = async (
  response: ServerResponse,
  frames: AsyncIterable<string>,
  { heartbeatMs, stallMs, headers, admit }: SseOptions,
  signal: AbortSignal,
  failure: (thrown: unknown) => string,
): Promise<void> => {
  if (response.destroyed) return;
  response.writeHead(200, {
    'content-type': 'text/event-stream',
    ...SAFE_HEADERS,
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
    ...headers,
  });
  response.flushHeaders();

  let batch = '';
  let isFlushPlanned = false;
  let drained: Promise<void> | undefined;

  const heartbeat = setTimeout(() => {
    if (drained === undefined) write(': still here\n\n');
    else heartbeat.refresh();
  }, heartbeatMs);
  const write = (text: string): void => {
    heartbeat.refresh();
    if (response.writableEnded || response.destroyed || response.write(text)) return;
    drained = waitForDrain(response, stallMs).finally(() => {
      drained = undefined;
    });
  };
  const flush = (): void => {
    isFlushPlanned = false;
    if (batch === '') return;
    const text = batch;
    batch = '';
    write(text);
  };
  const end = (lastWords = ''): void => {
    flush();
    if (!response.writableEnded && !response.destroyed) response.end(lastWords);
  };

  // Whatever the source does, an aborted stream ends now. A service that closes is worth coming back to; a key that has
  // ended is not, and its reader is told.
  const onAbort = (): void => {
    const reason: unknown = signal.reason;
    const isToTell = reason instanceof SealaneError && reason.code !== 'unavailable';
    end(isToTell ? failure(reason) : ': closed; resume with Last-Event-ID\n\n');
  };
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    for await (const frame of frames) {
      if (drained !== undefined) await drained;
      if (signal.aborted || response.destroyed) break;
      admit?.(frame.length);
      batch += frame;
      if (batch.length >= BATCH_LENGTH) flush();
      else if (!isFlushPlanned) {
        isFlushPlanned = true;
        // Runs when all promises that are settled already have been served: the frames at hand are together then.
        process.nextTick(flush);
      }
    }
    end();
  } catch (thrown) {
    end(signal.aborted ? '' : failure(thrown));
  } finally {
    clearTimeout(heartbeat);
    signal.removeEventListener('abort', onAbort);
  }
};

/** Resolves when the connection takes more, or is gone. A reader that takes nothing for too long is disconnected. */
const waitForDrain = (response: ServerResponse, stallMs: number): Promise<void> =>
  new Promise((resolve) => {
    const stall = setTimeout(() => response.destroy(), stallMs);
    const done = (): void => {
      clearTimeout(stall);
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.on('drain', done);
    response.on('close', done);
  });
