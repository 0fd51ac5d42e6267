import { type Artifact, isInterrupted, isTerminal, type Message, type State } from '#domain';
import type { StreamItem } from '#engine';
import type { StoredTask } from '#store';

import { stateOf } from '../state-names.ts';
import { type CoreStatus, coreTaskOf, coreUpdateOf } from '../v03/core-json.ts';
import { taggedPartOf } from '../v03/tagged-part.ts';
import { isClosing, type StreamKind } from '../v03/v03-encoder.ts';
import { legacyRoleOf } from '../v03/v03-message.ts';

/** The dialect's name on tasks and webhooks. */
export const V01 = '0.1';

/** 0.1 knows fewer states than we do: these are told as what comes nearest. */
const NEAREST: Partial<Record<State, State>> = { rejected: 'failed', 'auth-required': 'input-required' };

/**
 * A turn that ended with a sign-in: nothing goes on while somebody signs in elsewhere, and 0.1 is told of a question, so
 * its stream ends as it does with one.
 */
const isEndedBySignIn = (item: StreamItem): boolean =>
  item.kind === 'event' && item.event.event.kind === 'turn-ended' && item.event.event.state === 'auth-required';

/** The items of a stream up to what 0.1 takes for its end. */
export async function* untilAsked(items: AsyncIterable<StreamItem>): AsyncGenerator<StreamItem, void, undefined> {
  for await (const item of items) {
    yield item;
    if (isEndedBySignIn(item)) return;
  }
}

/** A task as 0.1 JSON text, under the name that its caller knows it by. */
export const encodeV01Task = (task: StoredTask, name: string, historyLength: number): string => {
  const { contextId, status, artifacts, history, metadata } = coreTaskOf(task, { historyLength });
  return JSON.stringify({
    id: name,
    sessionId: contextId,
    status: statusOf(status),
    ...(artifacts && { artifacts: artifacts.map((artifact, index) => artifactOf(artifact, index)) }),
    ...(history && { history: history.map(messageOf) }),
    ...(metadata && { metadata }),
  });
};

const statusOf = ({ state: coreState, message, timestamp }: CoreStatus): object => {
  const state = stateOf(coreState);
  return {
    state: state === undefined ? 'unknown' : (NEAREST[state] ?? state),
    ...(message && { message: messageOf(message) }),
    timestamp,
  };
};

const messageOf = ({ role, parts, metadata }: Message): object => ({
  role: legacyRoleOf(role),
  parts: parts.map((part) => taggedPartOf(part, 'type')),
  ...(metadata && { metadata }),
});

const artifactOf = ({ name, description, parts, metadata }: Artifact, index: number): object => ({
  ...(name !== undefined && { name }),
  ...(description !== undefined && { description }),
  parts: parts.map((part) => taggedPartOf(part, 'type')),
  index,
  ...(metadata && { metadata }),
});

/**
 * Makes the texts of one stream. 0.1 has artifacts by number, in the order in which they first appear in the task, so
 * a stream remembers those it has seen; `known` is the task as it was before, if it was there.
 */
export const createV01StreamEncoder = (
  name: string,
  kind: StreamKind,
  known: StoredTask | undefined,
): ((item: StreamItem) => string) => {
  const indexes = new Map<string, number>();
  const indexOf = ({ artifactId }: Artifact): number => {
    const index = indexes.get(artifactId) ?? indexes.size;
    indexes.set(artifactId, index);
    return index;
  };
  const learn = (task: StoredTask): void => {
    for (const artifact of JSON.parse(task.artifacts) as readonly Artifact[]) indexOf(artifact);
  };
  if (known) learn(known);

  return (item) => {
    if (item.kind === 'message') {
      // There are no direct replies in 0.1: it is told as the end of the task that it answers.
      const status = { state: 'completed', message: messageOf(item.message) };
      return JSON.stringify({ id: name, status, final: true });
    }
    if (item.kind === 'task') {
      learn(item.task);
      const { status, metadata } = coreTaskOf(item.task, { historyLength: 0, artifacts: 'never' });
      // A stream that begins where a turn has ended, or asks something, has nothing to add.
      const isFinal = isTerminal(item.task.state) || (kind === 'send' && isInterrupted(item.task.state));
      return JSON.stringify({ id: name, status: statusOf(status), final: isFinal, ...(metadata && { metadata }) });
    }
    const { artifactUpdate, statusUpdate } = coreUpdateOf(item.event, item.task);
    if (artifactUpdate) {
      const { artifact, append, lastChunk, metadata } = artifactUpdate;
      const shown = {
        ...artifactOf(artifact, indexOf(artifact)),
        ...(append && { append }),
        ...(lastChunk && { lastChunk }),
      };
      return JSON.stringify({ id: name, artifact: shown, ...(metadata && { metadata }) });
    }
    const { status, metadata } = statusUpdate;
    const state = stateOf(status.state);
    const isFinal = (state !== undefined && isClosing(state, kind)) || (kind === 'send' && isEndedBySignIn(item));
    return JSON.stringify({ id: name, status: statusOf(status), final: isFinal, ...(metadata && { metadata }) });
  };
};
