/** One attempt at one turn, as agents (and their own calls to us) name it. */
export const runIdOf = (taskId: string, attempt: number): string => `${taskId}.${attempt}`;
