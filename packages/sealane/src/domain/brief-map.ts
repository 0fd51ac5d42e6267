/**
 * A map for what comes and goes by the thousand: runs, followed tasks, admissions.
 *
 * A `Map` under constant change is rebuilt every few dozen entries, and each outgrown table points at the next. Once
 * one of them is old, all of its successors, with everything that they held, outlive their use until the next full
 * collection of garbage: more than a kilobyte for each task. The dictionary of an object is rebuilt without such a trail.
 */
export class BriefMap<T extends object> {
  #entries: Record<string, T> = Object.create(null) as Record<string, T>;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: string): T | undefined {
    return this.#entries[key];
  }

  set(key: string, value: T): void {
    if (this.#entries[key] === undefined) this.#size += 1;
    this.#entries[key] = value;
  }

  delete(key: string): void {
    if (this.#entries[key] === undefined) return;
    this.#size -= 1;
    delete this.#entries[key];
  }

  clear(): void {
    this.#entries = Object.create(null) as Record<string, T>;
    this.#size = 0;
  }

  keys(): string[] {
    return Object.keys(this.#entries);
  }

  values(): T[] {
    return Object.values(this.#entries);
  }

  entries(): [key: string, value: T][] {
    return Object.entries(this.#entries);
  }
}
