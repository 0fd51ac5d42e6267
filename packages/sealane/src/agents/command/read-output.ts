import type { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';

import { SealaneError } from '#domain';

import type { RunEvent } from '../agent-connector.ts';

/** Text that comes within this time is one chunk: a durable event for every write would be dear, and no faster. */
const GATHER_MS = 15;
const MAX_CHUNK_CHARS = 64 * 1024;

/**
 * The text of a stream as it comes, whole characters only. The reader is the brake: while it does not ask for more,
 * the stream stands still and the program waits.
 */
export async function* textOfStream(stream: Readable, maxBytes: number): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) {
      throw new SealaneError(
        'too-large',
        `The program printed more than ${maxBytes} bytes and was stopped. Let it print less, or raise \`maxOutputBytes\`.`,
        { facts: { reason: 'output-limit' } },
      );
    }
    const text = decoder.decode(chunk, { stream: true });
    if (text !== '') yield text;
  }
  const rest = decoder.decode();
  if (rest !== '') yield rest;
}

/** Gathers texts that come close together. `isLast` is known when nothing comes after in the same moment. */
export async function* gathered(
  texts: AsyncIterator<string>,
): AsyncGenerator<{ readonly text: string; readonly isLast: boolean }, void, undefined> {
  let text = '';
  /** Counted from the first text: a program that speaks without a pause is heard all the same. */
  let gatherUntil = 0;
  const ask = (): Promise<IteratorResult<string>> => {
    const next = texts.next();
    // It may fail while our reader is busy with the text before; the reader is told when it asks again.
    next.catch(() => undefined);
    return next;
  };
  let next = ask();
  for (;;) {
    const got = text === '' ? await next : await within(next, Math.max(0, gatherUntil - performance.now()));
    if (got === 'late') {
      yield { text, isLast: false };
      text = '';
      continue;
    }
    if (got.done === true) {
      if (text !== '') yield { text, isLast: true };
      return;
    }
    if (text === '') gatherUntil = performance.now() + GATHER_MS;
    text += got.value;
    next = ask();
    if (text.length >= MAX_CHUNK_CHARS || performance.now() >= gatherUntil) {
      yield { text, isLast: false };
      text = '';
    }
  }
}

const within = async <T>(promise: Promise<T>, ms: number): Promise<T | 'late'> => {
  const timer = new AbortController();
  try {
    return await Promise.race([promise, setTimeout(ms, 'late' as const, { signal: timer.signal })]);
  } finally {
    timer.abort();
  }
};

/** The chunks of a turn's one text answer. The first replaces whatever a lost attempt has left. */
export const answerChunks = (artifactId: string): ((text: string, isLast: boolean) => RunEvent) => {
  let isFirst = true;
  return (text, isLast) => {
    const append = !isFirst;
    isFirst = false;
    return { kind: 'artifact', artifact: { artifactId, parts: [{ text }] }, append, lastChunk: isLast };
  };
};

/** Reads a stream and keeps its end. */
export const tailOf = (stream: Readable, maxBytes: number): (() => string) => {
  let tail: Buffer = Buffer.alloc(0);
  stream.on('data', (chunk: Buffer) => {
    tail = maxBytes === 0 ? tail : Buffer.concat([tail, chunk]).subarray(-maxBytes);
  });
  return () => tail.toString();
};
