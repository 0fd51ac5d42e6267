import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';

import { type PlainError, replyOf, requestOf, textOf, type WorkerRequest } from './worker-messages.ts';

/** The most calls of one batch, so that no caller waits for an endless batch. */
const LARGEST = 512;

/** Executes the calls that are not special. */
export interface Performer {
  /** True: these calls change nothing. */
  isRead(calls: WorkerRequest): boolean;
  /** Executes the first of these calls durably, at least one. Answers the texts of their outcomes. */
  perform(calls: WorkerRequest, wakes: Set<string>): readonly string[];
}

/**
 * Answers every request. The function of its name answers a special request. The performer answers all others: the
 * requests that have come in in the meantime make up one batch, and share one sync of the disk and one reply.
 */
export const answerRequests = (
  port: MessagePort,
  special: Readonly<Record<string, (...args: never[]) => unknown>>,
  plain: (thrown: unknown) => PlainError,
  performer?: Performer,
): void => {
  const reply = (...words: Parameters<typeof replyOf>): void => port.postMessage(replyOf(...words));
  /** The next request, if it is there already. */
  const nextRequest = (): WorkerRequest | undefined => {
    const received = receiveMessageOnPort(port);
    return received && requestOf(received.message);
  };

  const isSpecial = (request: WorkerRequest): boolean => request[0] !== undefined && request[0][0] in special;

  const doSpecial = ([call]: WorkerRequest): void => {
    const [name = '', args = []] = call ?? [];
    try {
      reply([textOf({ ok: true, value: special[name]?.(...(args as never[])) })]);
    } catch (error) {
      reply([textOf({ ok: false, error: plain(error) })]);
    }
    if (name === 'close') port.close();
  };

  /** Performs all requests that are there already. Answers the request after them, which is not part of this batch. */
  const round = (own: Performer, first: WorkerRequest): WorkerRequest | undefined => {
    const started = performance.now();
    const calls: WorkerRequest[number][] = [];
    let next: WorkerRequest | undefined = first;
    while (next && !isSpecial(next) && calls.length < LARGEST) {
      calls.push(...next);
      next = nextRequest();
    }
    for (let left: WorkerRequest = calls; left.length > 0;) {
      const wakes = new Set<string>();
      const texts = own.perform(left, wakes);
      const isWrite = !own.isRead(left.slice(0, texts.length));
      reply(texts, [...wakes], isWrite ? performance.now() - started : null);
      left = left.slice(texts.length);
    }
    return next;
  };

  port.on('message', (texts: readonly string[]) => {
    let request: WorkerRequest | undefined = requestOf(texts);
    while (request) {
      if (!performer || isSpecial(request)) return doSpecial(request);
      request = round(performer, request);
    }
  });
};
