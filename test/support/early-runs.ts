import type { AgentConnector } from 'sealane';
import type { Admission, Storage, TaskStore } from 'sealane/store';

import type { createGateAgent } from './gate-agent.ts';

/** The same storage, with other ways to do some things. */
export const withTasks = (storage: Storage, change: (tasks: TaskStore) => Partial<TaskStore>): Storage => ({
  ...storage,
  tasks: { ...storage.tasks, ...change(storage.tasks) },
});

export const withoutAnswer = (admission: Admission): Admission => {
  const { answer, ...rest } = admission;
  return answer ? rest : admission;
};

/** What has happened by the time that everything has had its chance. */
export const soon = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 50));

/** Its runs begin before their tasks are stored. */
export const eager = (gate: ReturnType<typeof createGateAgent>): AgentConnector => ({
  ...gate.connector,
  startsEarly: true,
});
