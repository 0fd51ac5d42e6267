import type { RunEvent } from '#agents';
import { type Artifact, type NewEvent, type Part, SealaneError } from '#domain';
import type { RunToken } from '#store';

import type { Persist } from './persist.ts';
import type { EngineSettings } from './settings.ts';

/** How many events may wait for the disk before an agent is slowed down. */
const WINDOW_EVENTS = 512;
const WINDOW_BYTES = 1024 * 1024;

/** The size of the answer that is copied into the last status, for clients that look only there. */
const STATUS_TEXT = 16 * 1024;

/**
 * What a run says on its way into the log. Events are written in self-clocking batches: while one batch is being
 * committed the next one gathers. A producer waits only when it is a window ahead of the disk.
 */
export interface RunOutput {
  emit(event: RunEvent): Promise<void>;
  /** Everything said so far that is not written yet; nothing more is accepted. The caller writes it with the end. */
  close(): Promise<readonly NewEvent[]>;
  /** The text of the answer so far, up to a limit. */
  answer(): string;
}

export const createRunOutput = (options: {
  readonly token: RunToken;
  readonly settings: EngineSettings;
  readonly persist: Persist;
  /** The lease is lost or the task has ended: the run must stop. */
  readonly onRefused: (why: 'lost' | 'terminal') => void;
}): RunOutput => {
  const { token, settings, persist } = options;
  let pending: NewEvent[] = [];
  let pendingBytes = 0;
  let writing: Promise<void> | undefined;
  let isClosed = false;
  let refusal: SealaneError | undefined;
  let room: (() => void)[] = [];
  let answer = '';
  let taskBytes = 0;
  const artifactBytes = new Map<string, number>();

  const write = async (): Promise<void> => {
    while (pending.length > 0 && !isClosed && !refusal) {
      const batch = pending;
      pending = [];
      pendingBytes = 0;
      for (const resolve of room) resolve();
      room = [];
      const refused = await persist.append(token, batch);
      if (refused) {
        refusal = new SealaneError('unavailable', 'The task has ended or its run was given to another instance.');
        options.onRefused(refused);
      }
    }
    writing = undefined;
    for (const resolve of room) resolve();
    room = [];
  };

  const weigh = (artifact: Artifact, isAppended: boolean): number => {
    const bytes = artifact.parts.reduce((sum, part) => sum + sizeOf(part), artifact.artifactId.length);
    const size = (isAppended ? (artifactBytes.get(artifact.artifactId) ?? 0) : 0) + bytes;
    artifactBytes.set(artifact.artifactId, size);
    taskBytes += bytes;
    const limit = (name: string, value: number, max: number): void => {
      if (value > max)
        throw new SealaneError('too-large', `The answer is larger than ${name} allows (${max} bytes).`, {
          facts: { limit: name },
        });
    };
    limit('limits.eventBytes', bytes, settings.eventBytes);
    limit('limits.artifactBytes', size, settings.artifactBytes);
    limit('limits.taskBytes', taskBytes, settings.taskBytes);
    return bytes;
  };

  const eventOf = (event: RunEvent): { readonly event: NewEvent; readonly bytes: number } => {
    if (event.kind === 'ask')
      return { event: { kind: 'status-reported', state: event.state, message: event.message }, bytes: 500 };
    if (event.kind === 'status') {
      const { message, metadata } = event;
      return {
        event: {
          kind: 'status-reported',
          state: 'working',
          ...(message && { message }),
          ...(metadata && { metadata }),
        },
        bytes: 500,
      };
    }
    const { artifact, lastChunk, metadata } = event;
    // A new attempt starts its answer anew: its first chunk replaces what the lost attempt left unfinished.
    const append = event.append === true && artifactBytes.has(artifact.artifactId);
    const bytes = weigh(artifact, append);
    if (answer.length < STATUS_TEXT)
      answer += artifact.parts
        .map((part) => part.text ?? '')
        .join('')
        .slice(0, STATUS_TEXT - answer.length);
    return {
      event: {
        kind: 'artifact-added',
        artifact,
        ...(append && { append }),
        ...(lastChunk && { lastChunk }),
        ...(metadata && { metadata }),
      },
      bytes,
    };
  };

  return {
    emit: async (said) => {
      if (refusal) throw refusal;
      if (isClosed) return;
      const { event, bytes } = eventOf(said);
      pending.push(event);
      pendingBytes += bytes;
      // Deferred, so that an agent that answers at once has its answer and its end in one commit.
      writing ??= new Promise((resolve) => setImmediate(() => void write().then(resolve)));
      while (pending.length >= WINDOW_EVENTS || pendingBytes >= WINDOW_BYTES) {
        if (refusal) throw refusal;
        if (isClosed) return;
        await new Promise<void>((resolve) => room.push(resolve));
      }
    },
    close: async () => {
      isClosed = true;
      for (const resolve of room) resolve();
      room = [];
      // A batch that is under way must be in the log before its successor; an unstarted one goes along with the end.
      await persist.idle(token);
      return refusal ? [] : pending;
    },
    answer: () => answer,
  };
};

const sizeOf = (part: Part): number =>
  (part.text?.length ?? 0) +
  (part.raw?.length ?? 0) +
  (part.url?.length ?? 0) +
  (part.data === undefined ? 0 : JSON.stringify(part.data).length);
