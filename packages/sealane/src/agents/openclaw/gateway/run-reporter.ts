import type { JsonObject, Part } from '#domain';

import type { RunEvent, RunIo, Turn, TurnEnd } from '../../agent-connector.ts';
import { isSendable, MAX_MEDIA_BYTES, unsentName } from '../media-parts.ts';
import { beginningOf, textChunks } from '../text-chunks.ts';
import type { AgentEvent } from './agent-event.ts';
import { createAnswerText } from './answer-text.ts';
import type { RunAnswer } from './run-answer.ts';
import type { TurnRecord } from './run-history.ts';

/** Tells the engine what a run does, in order, and never faster than the engine takes it. */
export interface RunReporter {
  observe(event: AgentEvent): void;
  status(text: string): void;
  /** Takes the transcript's word for what was said so far. */
  restate(pieces: TurnRecord['pieces']): void;
  /** Everything that is left to say, and what the end means. */
  finish(answer: RunAnswer): Promise<TurnEnd>;
}

export interface ReporterOptions {
  readonly showTools: boolean;
  /** Who decides on commands that wait, in words. */
  readonly approver?: string;
  /** A file that the run sends; nothing if it may not be sent. */
  readonly readFile: (place: string) => Promise<Part | undefined>;
  readonly maxMediaBytes?: number;
}

export const createRunReporter = (turn: Turn, io: RunIo, options: ReporterOptions): RunReporter => {
  const { showTools, maxMediaBytes = MAX_MEDIA_BYTES, approver = 'an operator of OpenClaw' } = options;
  const artifactId = `answer-${turn.number}`;
  const text = createAnswerText();
  const media = new Set<string>();
  let told: Promise<void> = Promise.resolve();
  let isTextQueued = false;
  let hasArtifact = false;
  let failure: { readonly error: unknown } | undefined;

  const queue = (step: () => Promise<void>): void => {
    told = told.then(async () => {
      if (failure || io.signal.aborted) return;
      await step().catch((error: unknown) => {
        failure = { error };
      });
    });
  };

  const artifact = async (part: Part, append: boolean, lastChunk: boolean): Promise<void> => {
    hasArtifact = true;
    const event: RunEvent = {
      kind: 'artifact',
      artifact: { artifactId, parts: [part] },
      append,
      ...(lastChunk && { lastChunk }),
    };
    await io.emit(event);
  };

  const readFile = async (place: string): Promise<Part | undefined> => {
    const part = await options.readFile(place).catch(() => undefined);
    return part && isSendable(part, maxMediaBytes) ? part : undefined;
  };

  const tellText = (): void => {
    if (isTextQueued) return;
    isTextQueued = true;
    queue(async () => {
      isTextQueued = false;
      const chunk = text.next();
      if (!chunk) return;
      const [first = '', ...others] = textChunks(chunk.text);
      await artifact({ text: first }, chunk.append, false);
      for (const other of others) await artifact({ text: other }, true, false);
    });
  };

  const status = (words: string): void => queue(() => io.emit({ kind: 'status', message: io.say(words) }));

  return {
    status,
    observe: (event) => {
      if (event.kind === 'text') {
        for (const place of event.media) media.add(place);
        text.set(`${event.runId}#${event.piece}`, event.text);
        tellText();
      } else if (event.kind === 'preamble') {
        text.set(`${event.runId}#${event.piece}`, event.text, 'preamble');
        tellText();
      } else if (event.kind === 'tool') {
        text.endPiece();
        if (showTools) status(`Using ${beginningOf(event.name, 100)}`);
      } else if (event.kind === 'approval')
        status(
          event.phase === 'waiting'
            ? `A command waits for the approval of ${approver}. Messages to this task do not approve it.`
            : 'The operator has decided; the work goes on.',
        );
    },
    restate: (pieces) => {
      text.reset();
      for (const { runId, piece, text: words } of pieces) {
        if (words.trim() === '') text.endPiece();
        else text.set(`${runId}#${piece}`, words, 'transcript');
      }
      tellText();
    },
    finish: async (answer) => {
      for (const place of answer.media) media.add(place);
      const said = answer.text?.trim() ?? '';
      // What was streamed ends in what the run answered; where it does not, the answer counts.
      if (answer.outcome === 'ok' && said !== '' && !text.whole().includes(said)) text.setLast(said);
      const files = await Promise.all([...media].map(async (place) => ({ place, part: await readFile(place) })));
      const parts = files.flatMap(({ part }) => part ?? []);
      const metadata = withUnsent(
        answer.metadata,
        files.flatMap(({ place, part }) => (part ? [] : [unsentName(place)])),
      );
      tellText();
      queue(async () => {
        const isOk = answer.outcome === 'ok';
        for (const [index, part] of parts.entries())
          await artifact(part, hasArtifact, isOk && index === parts.length - 1);
        if (parts.length === 0 && hasArtifact && isOk) await artifact({ text: '' }, true, true);
      });
      await told;
      if (failure) throw failure.error;
      // Clients that look only at the status have at least the beginning there.
      const beginning = beginningOf(text.whole());
      if (answer.outcome === 'ok')
        return { state: 'completed', metadata, ...(beginning !== '' && { message: io.say(beginning) }) };
      if (answer.outcome === 'aborted')
        return { state: 'canceled', metadata, message: io.say('The run was stopped in OpenClaw.'), reason: 'stopped' };
      const reason = answer.outcome === 'timeout' ? 'timeout' : 'agent';
      return {
        state: 'failed',
        metadata,
        reason,
        message: io.say(beginningOf(answer.error ?? 'OpenClaw gave no reason.')),
      };
    },
  };
};

/** Files that were not sent are at least named. */
const withUnsent = (metadata: JsonObject, filesNotSent: readonly string[]): JsonObject =>
  filesNotSent.length === 0 ? metadata : { openclaw: { ...(metadata['openclaw'] as JsonObject), filesNotSent } };
