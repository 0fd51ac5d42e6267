import type { CommandOutput, OutputPorts } from './command-output.ts';
import { answerChunks, gathered } from './read-output.ts';

/** The output is the answer, as it comes. */
export const createTextOutput = ({ artifactId, emit }: OutputPorts): CommandOutput => ({
  read: async (texts) => {
    const chunk = answerChunks(artifactId);
    let isOpen = false;
    for await (const { text, isLast } of gathered(texts[Symbol.asyncIterator]())) {
      isOpen = !isLast;
      await emit(chunk(text, isLast));
    }
    if (isOpen) await emit(chunk('', true));
  },
  conclude: () => Promise.resolve({ state: 'completed' }),
  said: () => undefined,
});
