import type { Message } from '#domain';

/** Messages for a live run: an iterable that ends when the run does, or is told to. */
export interface Inbox extends AsyncIterable<Message> {
  deliver(message: Message): void;
  close(): void;
}

export const createInbox = (): Inbox => {
  const messages: Message[] = [];
  let isClosed = false;
  let sleepers: (() => void)[] = [];
  const next = async (): Promise<IteratorResult<Message>> => {
    for (;;) {
      const message = messages.shift();
      if (message) return { done: false, value: message };
      if (isClosed) return { done: true, value: undefined };
      await new Promise<void>((resolve) => sleepers.push(resolve));
    }
  };
  const wake = (): void => {
    const roused = sleepers;
    sleepers = [];
    for (const wakeUp of roused) wakeUp();
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
