import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';

import { type PlainError, replyOf, requestOf, textOf, type WorkerRequest } from './worker-messages.ts';

/** So many calls are done at once at most, so that no caller waits for an endless batch. */
const LARGEST = 512;

/** What answers calls that are not special. */
export interface Performer {
  /** True: these calls change nothing. */
  isRead(calls: WorkerRequest): boolean;
  /** Does the first of them, at least one, durably; answers the texts of their outcomes. */
  perform(calls: WorkerRequest, wakes: Set<string>): readonly string[];
}

/**
 * Answers every request: a special one by its name, others by what performs them, all that have come in meanwhile at once:
 * they share one sync of the disk and one answer.
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

  /** All that is there already; answers the request that comes after it and is no part of this. */
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
