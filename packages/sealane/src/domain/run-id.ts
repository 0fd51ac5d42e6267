/** One attempt at one turn, as agents (and their own calls to us) name it. */
export const runIdOf = (taskId: string, turn: number, attempt: number): string => `${taskId}.${turn}.${attempt}`;
