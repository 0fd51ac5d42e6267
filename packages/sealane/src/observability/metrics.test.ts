import { queryObjects } from 'node:v8';

import { describe, expect, it } from 'vitest';

import type { Run, Storage } from '#store';

import { createMetrics } from './metrics.ts';

class Upkeep {
  async counts() {
    return { waiting: 0, running: 0, oldestWaitingSince: null };
  }
}

/** As much of a storage as the metrics ask of it. */
const createCountedStorage = () => {
  const listeners = new Set<(ms: number) => void>();
  const storage = {
    upkeep: new Upkeep(),
    onCommit: (listener: (ms: number) => void): Disposable => {
      listeners.add(listener);
      return { [Symbol.dispose]: () => listeners.delete(listener) };
    },
  };
  return { storage: storage as unknown as Storage, listeners };
};

const runOf = (agent: string): Run =>
  ({ agent, attempt: 1, turn: 1, queuedAt: 0, contextId: 'c', token: { taskId: 't' }, call: {} }) as unknown as Run;

describe('metrics', () => {
  it('of services that are gone are gone, too', async () => {
    for (let number = 0; number < 5; number += 1) {
      const { text } = await createMetrics(createCountedStorage().storage, Date.now).http.render();
      expect(text).toMatch(/^process_start_time_seconds \d/m);
      expect(text).toMatch(/^sealane_turns_waiting 0$/m);
    }
    // What this turn of the event loop has touched lives until the next.
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(queryObjects(Upkeep)).toBe(0);
  });

  it('hear no more of a storage that goes on without their service', () => {
    const { storage, listeners } = createCountedStorage();
    const metrics = createMetrics(storage, Date.now);
    expect(listeners.size).toBe(1);
    metrics.close();
    expect(listeners.size).toBe(0);
  });

  it('are told without the numbers of a store that does not answer, or fails', async () => {
    for (const counts of [() => new Promise<never>(() => undefined), () => Promise.reject(new Error('away'))]) {
      const { storage } = createCountedStorage();
      const { http } = createMetrics({ ...storage, upkeep: { ...storage.upkeep, counts } }, Date.now);
      expect((await http.render()).text).toMatch(/^sealane_events_total 0$/m);
    }
  });

  it('count the runs of agents that are called like a member of every object', async () => {
    const metrics = createMetrics(createCountedStorage().storage, Date.now);
    const run = metrics.observer.runStarted?.(runOf('constructor'), 'echo');
    expect((await metrics.http.render()).text).toMatch(/^sealane_runs\{agent="constructor"\} 1$/m);
    run?.ended('completed');
    expect((await metrics.http.render()).text).toMatch(/^sealane_runs\{agent="constructor"\} 0$/m);
  });
});
