import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';

import { type PlainError, replyOf, textOf, type WorkerMessage, type WorkerRequest } from './worker-messages.ts';

/** So many calls are done at once at most, so that no caller waits for an endless batch. */
const LARGEST = 512;

/** So long an admission that is written waits at most for something to be synced with. */
const COMPANY_MS = 1;

const isAdmissions = (request: WorkerMessage): request is { readonly admissions: WorkerRequest } =>
  !Array.isArray(request);

/** What answers calls that are not special: the texts of the outcomes of the first of them, written and not durable yet. */
export interface Performer {
  /** True: these calls change nothing. */
  isRead(calls: WorkerRequest): boolean;
  perform(calls: WorkerRequest, wakes: Set<string>): readonly string[];
  sync(): void;
  isDurable(): boolean;
}

/**
 * Answers every request: a special one by its name, others by what performs them, all that have come in meanwhile at once:
 * they share one sync of the disk and one answer. Nothing is answered before that sync but admissions, and these only so
 * that their runs can begin.
 */
export const answerRequests = (
  port: MessagePort,
  special: Readonly<Record<string, (...args: never[]) => unknown>>,
  plain: (thrown: unknown) => PlainError,
  performer?: Performer,
): void => {
  const reply = (...words: Parameters<typeof replyOf>): void => port.postMessage(replyOf(...words));
  /** The next request, if it is there already. */
  const nextRequest = (): WorkerMessage | undefined => {
    const received = receiveMessageOnPort(port);
    return received && (JSON.parse(received.message) as WorkerMessage);
  };

  const isSpecial = (request: WorkerMessage): boolean =>
    !isAdmissions(request) && request[0] !== undefined && request[0][0] in special;

  const doSpecial = ([call]: WorkerRequest): void => {
    const [name = '', args = []] = call ?? [];
    try {
      reply([textOf({ ok: true, value: special[name]?.(...(args as never[])) })]);
    } catch (error) {
      reply([textOf({ ok: false, error: plain(error) })]);
    }
    if (name === 'close') port.close();
  };

  /** Somebody was told that an admission is written, and waits to hear that it is durable. */
  let isOwed = false;
  /** That word waits so long for company: the end of a short run, or what a run has to remember. */
  let syncSoon: NodeJS.Timeout | undefined;

  const admit = (own: Performer, admissions: WorkerRequest): void => {
    for (let left = admissions; left.length > 0;) {
      const wakes = new Set<string>();
      const texts = own.perform(left, wakes);
      const admitted = own.isDurable() ? 'durable' : 'written';
      if (admitted === 'written') isOwed = true;
      reply(texts, { wakes: [...wakes], admitted });
      left = left.slice(texts.length);
    }
  };

  /** Also without calls: then it is only said that what was admitted is durable. */
  const settle = (own: Performer, calls: WorkerRequest, started: number): void => {
    clearTimeout(syncSoon);
    syncSoon = undefined;
    isOwed = false;
    let left = calls;
    do {
      const wakes = new Set<string>();
      const texts = left.length > 0 ? own.perform(left, wakes) : [];
      const isWrite = !own.isDurable() || !own.isRead(left.slice(0, texts.length));
      try {
        own.sync();
        reply(texts, { wakes: [...wakes], commitMs: isWrite ? performance.now() - started : null });
      } catch (error) {
        const failure = plain(error);
        reply(
          texts.map(() => textOf({ ok: false, error: failure })),
          { failure },
        );
      }
      left = left.slice(texts.length);
    } while (left.length > 0);
  };

  /** All that is there already, and answers what comes after it and is no part of this. */
  const round = (own: Performer, first: WorkerMessage): WorkerMessage | undefined => {
    const started = performance.now();
    const admissions: WorkerRequest[number][] = [];
    const calls: WorkerRequest[number][] = [];
    let next: WorkerMessage | undefined = first;
    while (next && !isSpecial(next) && admissions.length + calls.length < LARGEST) {
      if (isAdmissions(next)) admissions.push(...next.admissions);
      else calls.push(...next);
      next = nextRequest();
    }
    const wasOwed = isOwed;
    admit(own, admissions);
    if (calls.length > 0 || wasOwed) settle(own, calls, started);
    else if (isOwed) syncSoon = setTimeout(() => settle(own, [], performance.now()), COMPANY_MS);
    return next;
  };

  port.on('message', (text: string) => {
    let request: WorkerMessage | undefined = JSON.parse(text) as WorkerMessage;
    while (request) {
      if (!performer) return doSpecial(request as WorkerRequest);
      if (!isSpecial(request)) request = round(performer, request);
      else {
        if (isOwed) settle(performer, [], performance.now());
        return doSpecial(request as WorkerRequest);
      }
    }
  });
};
