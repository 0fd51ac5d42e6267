/** Counts the messages on their way into the store, whose turns may begin when it has answered. */
export interface Arrivals {
  begin(): void;
  end(): void;
  /** Resolves when none is on its way. */
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
