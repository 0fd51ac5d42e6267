import { SealaneError } from '#domain';

import type { TurnEnd } from '../agent-connector.ts';
import type { CommandOutput, OutputPorts } from './command-output.ts';
import type { PrintedMessage } from './output-shapes.ts';
import { artifactOf, badOutput, endOf, jsonLine, messageOf, parseJson } from './output-shapes.ts';
import { answerChunks } from './read-output.ts';

/** One JSON object per line: see `jsonLine`. Texts that come together are one chunk. */
export const createJsonlOutput = ({ artifactId, say, emit, expectAnswer, onEnd }: OutputPorts): CommandOutput => {
  const chunk = answerChunks(artifactId);
  let end: TurnEnd | undefined;
  let text = '';
  let isOpen = false;
  let artifacts = 0;

  const flush = async (): Promise<void> => {
    if (text === '') return;
    const event = chunk(text, false);
    text = '';
    isOpen = true;
    await emit(event);
  };
  const closeAnswer = async (): Promise<void> => {
    if (text === '' && !isOpen) return;
    const event = chunk(text, true);
    text = '';
    isOpen = false;
    await emit(event);
  };
  const ask = async (question: PrintedMessage, state: 'input-required' | 'auth-required'): Promise<void> => {
    if (!expectAnswer()) {
      throw new SealaneError(
        'invalid-agent-response',
        'The program asked a question, but its standard input ended with the message. Set `input: json` or use `{message}`.',
        { facts: { reason: 'bad-output' } },
      );
    }
    await emit({ kind: 'ask', state, message: messageOf(question, { say }) });
  };
  const take = async (line: string): Promise<void> => {
    const parsed = jsonLine.safeParse(parseJson(line, 'The program should print one JSON object per line.'));
    if (!parsed.success) {
      throw badOutput('A line is none of {"text"}, {"status"}, {"artifact"}, {"ask"} and {"end"}.', line);
    }
    const said = parsed.data;
    if ('text' in said) {
      text += said.text;
      return;
    }
    if ('end' in said) {
      await closeAnswer();
      end = endOf(said.end, said, { say });
      onEnd();
      return;
    }
    await flush();
    if ('ask' in said) await ask(said.ask, said.state);
    else if ('status' in said) {
      const { status, metadata } = said;
      await emit({ kind: 'status', message: messageOf(status, { say }), ...(metadata && { metadata }) });
    } else {
      artifacts += said.artifact.artifactId === undefined ? 1 : 0;
      const { artifact, ...how } = said;
      await emit({ kind: 'artifact', artifact: artifactOf(artifact, `${artifactId}-${artifacts}`), ...how });
    }
  };

  return {
    read: async (texts) => {
      let rest = '';
      for await (const some of texts) {
        // A long line is put together before it is looked at.
        if (end || !some.includes('\n')) {
          if (!end) rest += some;
          continue;
        }
        const lines = (rest + some).split('\n');
        rest = lines.pop() ?? '';
        try {
          for (const line of lines) if (line.trim() !== '' && !end) await take(line);
        } finally {
          // Also what was said before a line that says nothing, as of a program that breaks down while it answers.
          await flush();
        }
      }
      if (rest.trim() !== '' && !end) await take(rest);
      if (!end) await closeAnswer();
    },
    conclude: () => Promise.resolve({ state: 'completed' }),
    said: () => end,
  };
};
