/** Counts the messages on their way into the store. Their turns may begin when the store has answered. */
export interface Arrivals {
  begin(): void;
  end(): void;
  /** Resolves when no message is on its way. */
  none(): Promise<void>;
}

export const createArrivals = (): Arrivals => {
  let count = 0;
  let waiting: (() => void)[] = [];
  return {
    begin: () => {
      count += 1;
    },
    end: () => {
      count -= 1;
      if (count > 0) return;
      for (const tell of waiting) tell();
      waiting = [];
    },
    none: () => (count === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
  };
};
