/** A bounded map whose entries end by themselves; the oldest entry makes room for a new one. */
export interface ExpiringCache<T> {
  find(key: string, now: number): T | undefined;
  put(key: string, value: T, until: number): void;
  clear(): void;
}

export const createExpiringCache = <T>(capacity: number): ExpiringCache<T> => {
  const entries = new Map<string, { readonly value: T; readonly until: number }>();
  return {
    find: (key, now) => {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      if (entry.until > now) return entry.value;
      entries.delete(key);
      return undefined;
    },
    put: (key, value, until) => {
      entries.delete(key);
      if (entries.size >= capacity) {
        const [oldest] = entries.keys();
        if (oldest !== undefined) entries.delete(oldest);
      }
      entries.set(key, { value, until });
    },
    clear: () => entries.clear(),
  };
};
