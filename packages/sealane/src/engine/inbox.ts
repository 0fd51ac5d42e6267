import type { Message } from '#domain';

/** Messages for a live run: an endless iterable that ends when the run does. */
export interface Inbox extends AsyncIterable<Message> {
  deliver(message: Message): void;
  close(): void;
}

export const createInbox = (): Inbox => {
  const messages: Message[] = [];
  let isClosed = false;
  let notify: (() => void) | undefined;
  const next = async (): Promise<IteratorResult<Message>> => {
    for (;;) {
      const message = messages.shift();
      if (message) return { done: false, value: message };
      if (isClosed) return { done: true, value: undefined };
      await new Promise<void>((resolve) => (notify = resolve));
    }
  };
  const wake = (): void => {
    notify?.();
    notify = undefined;
  };
  return {
    deliver: (message) => {
      messages.push(message);
      wake();
    },
    close: () => {
      isClosed = true;
      wake();
    },
    [Symbol.asyncIterator]: () => ({ next }),
  };
};
