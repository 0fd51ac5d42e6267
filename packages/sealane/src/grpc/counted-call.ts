import { ServerInterceptingCall } from '@grpc/grpc-js';

import type { UnreadAnswers, Waiting } from '#identity';

/** A call whose messages are counted until the connection has taken them, within its reader's window. */
export class CountedCall extends ServerInterceptingCall implements Waiting {
  #waiting = 0;
  #held: Disposable | undefined;
  #isOver = false;

  /** Counts for this key from now on. */
  countFor(unread: UnreadAnswers, keyId: string): void {
    if (!this.#isOver) this.#held = unread.hold(keyId, this);
  }

  /** The call is over: what nobody has taken is gone. */
  forget(): void {
    this.#isOver = true;
    this.#held?.[Symbol.dispose]();
  }

  get writableLength(): number {
    return this.#waiting;
  }

  override sendMessage(message: unknown, callback: () => void): void {
    const length = Buffer.isBuffer(message) ? message.length : 0;
    this.#waiting += length;
    super.sendMessage(message, () => {
      this.#waiting -= length;
      callback();
    });
  }
}
