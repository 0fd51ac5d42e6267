import type { Json, Part } from '#domain';

import type { CommandOutput, OutputPorts } from './command-output.ts';
import { artifactOf, badOutput, endOf, firstIssue, jsonAnswer, parseJson } from './output-shapes.ts';

/** The output is one JSON value: an object of `jsonAnswer`, or any other value, which is the answer itself. */
export const createJsonOutput = ({ artifactId, say, emit }: OutputPorts): CommandOutput => {
  const printed: string[] = [];
  const answer = (parts: readonly Part[]): Promise<void> =>
    emit({ kind: 'artifact', artifact: { artifactId, parts }, append: false, lastChunk: true });
  return {
    read: async (texts) => {
      for await (const text of texts) printed.push(text);
    },
    conclude: async () => {
      const text = printed.join('').trim();
      if (text === '') return { state: 'completed' };
      const value = parseJson(text, 'The program should print one JSON value.');
      if (!isAnswer(value)) {
        await answer([typeof value === 'string' ? { text: value } : { data: value as Json }]);
        return { state: 'completed' };
      }
      const parsed = jsonAnswer.safeParse(value);
      if (!parsed.success) throw badOutput(`The program's JSON is not an answer: ${firstIssue(parsed.error)}.`, text);
      const { text: spoken, parts = [], artifacts = [], state, ...rest } = parsed.data;
      const all = spoken === undefined || spoken === '' ? parts : [{ text: spoken }, ...parts];
      if (all.length > 0) await answer(all);
      for (const [index, one] of artifacts.entries()) {
        const artifact = artifactOf(one, `${artifactId}-${index + 1}`);
        await emit({ kind: 'artifact', artifact, append: false, lastChunk: true });
      }
      return endOf(state, rest, { say });
    },
    said: () => undefined,
  };
};

const ANSWER_KEYS = Object.keys(jsonAnswer.shape);

const isAnswer = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && ANSWER_KEYS.some((key) => key in value);
