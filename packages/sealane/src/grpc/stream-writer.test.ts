import { describe, expect, it } from 'vitest';

import { createStreamWriter } from './stream-writer.ts';

const KIB = 1024;

/** A sink that takes what it is told to take. */
const createSink = () => {
  const waiting: (() => void)[] = [];
  const written: Buffer[] = [];
  return {
    written,
    write: (message: Buffer, taken: () => void) => {
      written.push(message);
      waiting.push(taken);
    },
    take: () => waiting.shift()?.(),
  };
};

const isPending = async (promise: Promise<unknown>): Promise<boolean> => {
  const pending = Symbol('pending');
  return (await Promise.race([promise, new Promise((resolve) => setImmediate(resolve, pending))])) === pending;
};

describe('a stream writer', () => {
  it('lets messages through until a window is under way, and more when the reader has taken some', async () => {
    const sink = createSink();
    const write = createStreamWriter(sink, 60_000, new AbortController().signal);
    await write(Buffer.alloc(40 * KIB));
    const second = write(Buffer.alloc(40 * KIB));
    expect(await isPending(second)).toBe(true);
    sink.take();
    await second;
    expect(sink.written).toHaveLength(2);
  });

  it('holds back after one message that is larger than the window, until it is taken', async () => {
    const sink = createSink();
    const write = createStreamWriter(sink, 60_000, new AbortController().signal);
    const writing = write(Buffer.alloc(500 * KIB));
    expect(await isPending(writing)).toBe(true);
    sink.take();
    await writing;
  });

  it('gives up on a reader that takes nothing for the time it has, and on no other', async () => {
    const sink = createSink();
    const write = createStreamWriter(sink, 50, new AbortController().signal);
    await write(Buffer.alloc(40 * KIB));
    const writing = write(Buffer.alloc(100 * KIB));
    // Progress within the time starts it anew.
    setTimeout(sink.take, 30);
    setTimeout(sink.take, 60);
    await writing;
    await expect(write(Buffer.alloc(100 * KIB))).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('ends with the reason of its signal, while it waits and before it writes', async () => {
    const sink = createSink();
    const controller = new AbortController();
    const write = createStreamWriter(sink, 60_000, controller.signal);
    const writing = write(Buffer.alloc(100 * KIB));
    const reason = new Error('left');
    controller.abort(reason);
    await expect(writing).rejects.toBe(reason);
    await expect(write(Buffer.alloc(1))).rejects.toBe(reason);
    expect(sink.written).toHaveLength(1);
  });
});
