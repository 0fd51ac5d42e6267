import type { ProcessReader, ProcessTable } from './process-table.ts';

/**
 * The same reader, whose tables are shared by those who ask together: many runs end at once when a service stops, and
 * a table for each of them would take as long as all of them together. A table is never older than the question: who
 * asks while one is being read gets the next.
 */
export const shareTables = (reader: ProcessReader): ProcessReader => {
  let reading: Promise<unknown> = Promise.resolve();
  let next: Promise<ProcessTable> | undefined;
  const readNext = (): Promise<ProcessTable> => {
    next = undefined;
    const table = reader.read();
    reading = table.catch(() => undefined);
    return table;
  };
  return { ...reader, read: () => (next ??= reading.then(readNext)) };
};
