import { join } from 'node:path';

import type { JsonObject, Part } from '#domain';

import type { RunIo, Turn, TurnEnd } from '../../agent-connector.ts';
import { unsentName } from '../media-parts.ts';
import { textChunks } from '../text-chunks.ts';
import type { CliOptions } from './cli-options.ts';
import type { CliAnswer } from './cli-output.ts';
import { type MediaPlaces, readLocalMedia } from './local-media.ts';

export interface AnswerWay {
  readonly turn: Turn;
  readonly io: RunIo;
  readonly options: CliOptions;
  readonly stateDir: string;
}

/** Hands an answer and its files on. Files that are not sent are at least named. */
export const tellAnswer = async (answer: CliAnswer, { turn, io, options, stateDir }: AnswerWay): Promise<TurnEnd> => {
  const places = mediaPlaces(answer, options, stateDir);
  const files = await Promise.all(
    [...new Set(answer.media)].map(async (place) => ({ place, part: await readLocalMedia(place, places) })),
  );
  const parts: readonly Part[] = [
    ...textChunks(answer.text.toWellFormed()).map((text) => ({ text })),
    ...files.flatMap(({ part }) => part ?? []),
  ];
  for (const [index, part] of parts.entries()) {
    const artifact = { artifactId: `answer-${turn.number}`, parts: [part] };
    await io.emit({ kind: 'artifact', artifact, append: index > 0, lastChunk: index === parts.length - 1 });
  }
  const metadata = withUnsent(
    answer.metadata,
    files.flatMap(({ place, part }) => (part ? [] : [unsentName(place)])),
  );
  if (options.asyncMode) return { state: 'completed', metadata };
  // A direct answer is its message, and there is no artifact beside it.
  const message = { ...io.say(''), parts: parts.length > 0 ? parts : [{ text: '' }] };
  return { state: 'completed', metadata, message };
};

/** Behind a Gateway the agent may work on another machine, and its own paths lead to other files here. */
const mediaPlaces = ({ workspace }: CliAnswer, options: CliOptions, stateDir: string): MediaPlaces => {
  const { local, mediaRoots, maxMediaBytes: maxBytes } = options;
  if (!local) return { roots: mediaRoots, maxBytes };
  const roots = [join(stateDir, 'media'), ...mediaRoots];
  return workspace === undefined ? { roots, maxBytes } : { roots: [workspace, ...roots], workspace, maxBytes };
};

const withUnsent = (metadata: JsonObject, filesNotSent: readonly string[]): JsonObject =>
  filesNotSent.length === 0 ? metadata : { openclaw: { ...(metadata['openclaw'] as JsonObject), filesNotSent } };
