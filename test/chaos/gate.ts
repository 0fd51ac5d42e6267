/** Lets clients go on, or holds them; knows what is still under way. */
export interface Gate {
  readonly isOpen: boolean;
  open(): void;
  shut(): void;
  /** For good: everybody who asks is sent home. */
  close(): void;
  /** Waits while the gate is shut; false when it is closed. */
  enter(): Promise<boolean>;
  track<T>(work: Promise<T>): Promise<T>;
  /** Resolves when nothing that was tracked is under way, and nothing it has started meanwhile. */
  idle(): Promise<void>;
}

export const createGate = (): Gate => {
  const underWay = new Set<Promise<unknown>>();
  let isOpen = false;
  let isClosed = false;
  let change = Promise.withResolvers<void>();
  const turn = (): void => {
    change.resolve();
    change = Promise.withResolvers();
  };
  return {
    get isOpen() {
      return isOpen;
    },
    open: () => {
      isOpen = true;
      turn();
    },
    shut: () => {
      isOpen = false;
    },
    close: () => {
      isClosed = true;
      turn();
    },
    enter: async () => {
      while (!isOpen && !isClosed) await change.promise;
      return !isClosed;
    },
    track: (work) => {
      const settled = work.then(
        () => undefined,
        () => undefined,
      );
      underWay.add(settled);
      void settled.then(() => underWay.delete(settled));
      return work;
    },
    idle: async () => {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
};
