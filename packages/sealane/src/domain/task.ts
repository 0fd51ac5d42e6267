import type { Event } from './event.ts';
import type { Artifact, JsonObject, Message, Part } from './message.ts';
import type { State } from './state.ts';
import type { TaskSnapshot } from './task-snapshot.ts';

/** The mutable form that folding works on: a long tail of chunks must not copy the task at each of them. */
interface Fold {
  state: State;
  statusMessage: Message | undefined;
  statusAt: string;
  artifacts: Artifact[];
  history: Message[];
  metadata: JsonObject;
  /** Part lists that this fold made itself and may extend in place. */
  readonly owned: Set<readonly Part[]>;
}

/** Folds committed events into a snapshot; `undefined` is a task before its first event. */
export const fold = (snapshot: TaskSnapshot | undefined, events: Iterable<Event>): TaskSnapshot => {
  const task: Fold = snapshot
    ? {
        ...snapshot,
        statusMessage: snapshot.statusMessage,
        artifacts: [...snapshot.artifacts],
        history: [...snapshot.history],
        owned: new Set(),
      }
    : {
        state: 'submitted',
        statusMessage: undefined,
        statusAt: '',
        artifacts: [],
        history: [],
        metadata: {},
        owned: new Set(),
      };
  for (const event of events) apply(task, event);
  const { state, statusAt, statusMessage, artifacts, history, metadata } = task;
  return { state, statusAt, artifacts, history, metadata, ...(statusMessage && { statusMessage }) };
};

const apply = (task: Fold, { at, event }: Event): void => {
  if (event.kind === 'artifact-added') {
    addArtifact(task, event.artifact, event.append === true);
    return;
  }
  if (event.kind === 'task-put') {
    Object.assign(task, {
      ...event.snapshot,
      statusMessage: event.snapshot.statusMessage,
      artifacts: [...event.snapshot.artifacts],
      history: [...event.snapshot.history],
    });
    return;
  }
  task.state = event.state;
  task.statusAt = at;
  switch (event.kind) {
    case 'task-admitted':
      task.history.push(event.message);
      task.metadata = { ...event.metadata };
      break;
    case 'message-received':
      task.history.push(event.message);
      task.statusMessage = undefined;
      break;
    case 'status-reported':
      task.statusMessage = event.message;
      // A question belongs to the conversation; a progress text does not.
      if (event.message && event.state !== 'working') task.history.push(event.message);
      if (event.metadata) task.metadata = { ...task.metadata, ...event.metadata };
      break;
    case 'turn-ended':
      task.statusMessage = event.message;
      if (event.message) task.history.push(event.message);
      if (event.reason !== undefined) task.metadata = { ...task.metadata, reason: event.reason };
      if (event.forced) task.metadata = { ...task.metadata, forced: true };
      if (event.metadata) task.metadata = { ...task.metadata, ...event.metadata };
      break;
    case 'run-started':
      task.statusMessage = undefined;
      break;
    case 'cancel-requested':
    case 'run-lost':
      break;
  }
};

/** Later chunks of an artifact extend it; without `append` they replace it. */
const addArtifact = ({ artifacts, owned }: Fold, chunk: Artifact, append: boolean): void => {
  // The artifact being streamed is nearly always the last one.
  const index = artifacts.findLastIndex((artifact) => artifact.artifactId === chunk.artifactId);
  const known = artifacts[index];
  if (known === undefined) artifacts.push(chunk);
  else if (!append) artifacts[index] = chunk;
  else {
    const parts = owned.has(known.parts) ? (known.parts as Part[]) : [...known.parts];
    owned.add(parts);
    for (const part of chunk.parts) addPart(parts, part);
    artifacts[index] = { ...known, ...chunk, parts };
  }
};

/** Plain text that follows plain text becomes one part; ten thousand chunks are one answer, not ten thousand parts. */
const addPart = (parts: Part[], part: Part): void => {
  const last = parts.at(-1);
  if (last && isPlainText(last) && isPlainText(part) && last.mediaType === part.mediaType) {
    parts[parts.length - 1] = { ...last, text: last.text + part.text };
  } else parts.push(part);
};

const isPlainText = (part: Part): part is Part & { text: string } =>
  part.text !== undefined && part.filename === undefined && part.metadata === undefined;
