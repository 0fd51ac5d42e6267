import type { RunEvent } from '#agents';
import { type Artifact, type JsonObject, type Message, type NewEvent, SealaneError, type State } from '#domain';
import type { RunToken } from '#store';

import { copyJson, copyWords, weighArtifact, weighMessage, weighMetadata } from './agent-words.ts';
import type { RunnerDeps } from './live-run.ts';
import { BACK_TO_WORK, tooLarge } from './run-end.ts';
import { unwatched } from './unwatched.ts';

/** How many events may wait for the disk before an agent is slowed down. */
const WINDOW_EVENTS = 512;
const WINDOW_BYTES = 1024 * 1024;

/** Roughly the size of a status without its message and metadata. */
const STATUS_BYTES = 500;

/** How much of the answer is copied into the last status, for clients that read only the status. */
const STATUS_TEXT = 16 * 1024;

/** The log line for operators. */
export const UNWRITABLE = 'What an agent said could not be stored';

const REFUSALS = {
  ended: 'The task has ended.',
  unwritable: 'What the agent said could not be stored.',
};

/** The lease is lost, the task has ended, the answer is too large, or the store cannot store it. */
type Refusal = 'lost' | 'ended' | 'too-large' | 'unwritable';

/**
 * Writes what the agent says into the log, in self-clocking batches: while one batch is being committed, the next one
 * gathers. An agent waits only when it is a window ahead of the disk.
 */
export class RunOutput {
  /** Says what was too large about the answer. */
  excess: string | undefined;
  readonly #deps: Pick<RunnerDeps, 'settings' | 'persist' | 'observer'>;
  readonly #token: RunToken;
  readonly #onRefused: (why: Refusal) => void;
  /** The beginning of the answer, in the order in which the agent said it. */
  #said: { readonly artifactId: string; readonly text: string }[] = [];
  #saidLength = 0;
  #pending: NewEvent[] = [];
  #pendingBytes = 0;
  /** The state that the agent reported last. */
  #reported: State = 'working';
  #isWriting = false;
  /** Settles when the batch in flight is written, or has failed. */
  #underWay: Promise<unknown> | undefined;
  #isClosed = false;
  #refusal: SealaneError | undefined;
  /** The error of words that cannot be read. The words before them stay. */
  #fault: unknown;
  #room: (() => void)[] = [];
  #taskBytes = 0;
  /** By artifact: the first half of a character that its last chunk was cut in, until the other half comes. */
  readonly #halves = new Map<string, string>();
  readonly #artifactBytes = new Map<string, number>();

  /** `onRefused`: the run must stop. */
  constructor(
    deps: Pick<RunnerDeps, 'settings' | 'persist' | 'observer'>,
    token: RunToken,
    onRefused: (why: Refusal) => void,
  ) {
    this.#deps = deps;
    this.#token = token;
    this.#onRefused = onRefused;
  }

  /** The text of the answer so far, up to a limit. The limit may fall between the two halves of a character. */
  get answer(): string {
    const answer = this.#said.map(({ text }) => text).join('');
    return answer.length < STATUS_TEXT ? answer : answer.replace(/[\uD800-\uDBFF]$/, '');
  }

  /** An agent may ignore the returned promise: its rejection must not end the process. */
  emit(said: RunEvent): Promise<void> {
    const refusal = this.#refusal ?? this.#fault;
    if (refusal !== undefined) return unwatched(Promise.reject(refusal));
    if (this.#isClosed) return ACCEPTED;
    try {
      const event = this.#eventOf(said);
      if (event.kind === 'status-reported') this.#report(event.state);
      this.#pending.push(event);
    } catch (error) {
      if (!isTooLarge(error)) this.#misspoke(error);
      return unwatched(Promise.reject(error));
    }
    if (!this.#isWriting) {
      this.#isWriting = true;
      // Deferred, so that an agent that answers at once gets its answer and its end into one commit.
      setImmediate(() => void this.#write());
    }
    return this.#hasRoom() ? ACCEPTED : unwatched(this.#waitForRoom());
  }

  /** The table of states has no move between two kinds of questions: back to work comes between them. */
  #report(state: State): void {
    const states = new Set([this.#reported, state]);
    if (states.size === 2 && !states.has('working')) this.#pending.push(BACK_TO_WORK);
    this.#reported = state;
  }

  #hasRoom(): boolean {
    return this.#pending.length < WINDOW_EVENTS && this.#pendingBytes < WINDOW_BYTES;
  }

  async #waitForRoom(): Promise<void> {
    while (!this.#hasRoom()) {
      if (this.#refusal) throw this.#refusal;
      if (this.#isClosed) return;
      await new Promise<void>((resolve) => this.#room.push(resolve));
    }
  }

  /** The run is lost: rejects the calls that wait for room. */
  refuse(why: SealaneError): void {
    this.#refusal ??= why;
    this.#makeRoom();
  }

  #misspoke(error: unknown): void {
    this.#fault = error;
    this.#deps.observer.problem?.(UNWRITABLE, error, { taskId: this.#token.taskId });
    this.#onRefused('unwritable');
  }

  /** Accepts nothing more, and answers the events that are not written yet. The caller writes them with the end. */
  close(): readonly NewEvent[] | Promise<readonly NewEvent[]> {
    this.#isClosed = true;
    this.#makeRoom();
    // A batch in flight must be in the log before the next one. A batch that has not begun is written with the end.
    return this.#underWay ? this.#underWay.then(() => this.#unwritten()) : this.#unwritten();
  }

  #unwritten(): readonly NewEvent[] {
    return this.#refusal ? [] : this.#pending;
  }

  async #write(): Promise<void> {
    while (this.#pending.length > 0 && !this.#isClosed && !this.#refusal) {
      const batch = this.#pending;
      this.#pending = [];
      this.#pendingBytes = 0;
      this.#makeRoom();
      const written = this.#append(batch);
      this.#underWay = written;
      const refused = await written;
      if (!refused) continue;
      // A run that is told that it is lost refuses the rest itself.
      if (refused !== 'lost') this.#refusal ??= new SealaneError('unavailable', REFUSALS[refused]);
      this.#onRefused(refused);
    }
    this.#isWriting = false;
    this.#makeRoom();
  }

  async #append(batch: readonly NewEvent[]): Promise<'lost' | keyof typeof REFUSALS | undefined> {
    try {
      const refused = await this.#deps.persist.append(this.#token, batch);
      return refused === 'terminal' ? 'ended' : refused;
    } catch (error) {
      this.#deps.observer.problem?.(UNWRITABLE, error, { taskId: this.#token.taskId });
      return 'unwritable';
    }
  }

  #makeRoom(): void {
    for (const resolve of this.#room) resolve();
    this.#room = [];
  }

  #eventOf(event: RunEvent): NewEvent {
    if (event.kind === 'ask') {
      const { state, message } = event;
      if (state !== 'input-required' && state !== 'auth-required')
        throw new TypeError(`"${String(state)}" asks nothing.`);
      this.#weighStatus(message, undefined);
      return { kind: 'status-reported', state, ...(message && { message: copyWords(message) }) };
    }
    if (event.kind === 'status') {
      const { message, metadata } = event;
      this.#weighStatus(message, metadata);
      return {
        kind: 'status-reported',
        state: 'working',
        ...(message && { message: copyWords(message) }),
        ...(metadata && { metadata: copyJson(metadata) }),
      };
    }
    const { artifact, lastChunk, metadata } = event;
    const bytes = weighArtifact(artifact) + weighMetadata(metadata);
    // A new attempt starts its answer again: its first chunk replaces what the lost attempt left unfinished.
    const isKnown = this.#artifactBytes.has(artifact.artifactId);
    const append = event.append === true && isKnown;
    this.#pendingBytes += this.#weigh(artifact, append, bytes);
    const whole = copyWords(this.#join(artifact, append, lastChunk === true));
    this.#quote(whole, isKnown && !append);
    return {
      kind: 'artifact-added',
      artifact: whole,
      ...(append && { append }),
      ...(lastChunk && { lastChunk }),
      ...(metadata && { metadata: copyJson(metadata) }),
    };
  }

  /** Agents cut their text anywhere, but a client cannot read half a character in a chunk. */
  #join(artifact: Artifact, append: boolean, isLast: boolean): Artifact {
    const { artifactId, parts } = artifact;
    const held = append ? (this.#halves.get(artifactId) ?? '') : '';
    this.#halves.delete(artifactId);
    const half = isLast ? '' : (/[\uD800-\uDBFF]$/.exec(parts.at(-1)?.text ?? '')?.[0] ?? '');
    if (held === '' && half === '') return artifact;
    if (half !== '') this.#halves.set(artifactId, half);
    const joined = parts.map((part, index) => {
      if (part.text === undefined) return part;
      const text = index === 0 ? held + part.text : part.text;
      return { ...part, text: half !== '' && index === parts.length - 1 ? text.slice(0, -1) : text };
    });
    return { ...artifact, parts: joined };
  }

  /** An artifact that is sent again replaces its former text, here as in the task. */
  #quote({ artifactId, parts }: Artifact, isAnew: boolean): void {
    if (isAnew) {
      this.#said = this.#said.filter((piece) => piece.artifactId !== artifactId);
      this.#saidLength = this.#said.reduce((sum, { text }) => sum + text.length, 0);
    }
    for (const part of parts) {
      const text = part.text?.slice(0, STATUS_TEXT - this.#saidLength) ?? '';
      if (text === '') continue;
      this.#said.push({ artifactId, text });
      this.#saidLength += text.length;
    }
  }

  #weighStatus(message: Message | undefined, metadata: JsonObject | undefined): void {
    const { eventBytes } = this.#deps.settings;
    const bytes = (message === undefined ? 0 : weighMessage(message)) + weighMetadata(metadata);
    if (bytes > eventBytes) throw this.#tooLarge('limits.eventBytes', eventBytes);
    this.#pendingBytes += STATUS_BYTES + bytes;
  }

  #weigh({ artifactId }: Artifact, isAppended: boolean, bytes: number): number {
    const { settings } = this.#deps;
    const size = (isAppended ? (this.#artifactBytes.get(artifactId) ?? 0) : 0) + bytes;
    this.#artifactBytes.set(artifactId, size);
    this.#taskBytes += bytes;
    if (bytes > settings.eventBytes) throw this.#tooLarge('limits.eventBytes', settings.eventBytes);
    if (size > settings.artifactBytes) throw this.#tooLarge('limits.artifactBytes', settings.artifactBytes);
    if (this.#taskBytes > settings.taskBytes) throw this.#tooLarge('limits.taskBytes', settings.taskBytes);
    return bytes;
  }

  #tooLarge(limit: string, bytes: number): SealaneError {
    this.excess ??= tooLarge(limit, bytes);
    this.#onRefused('too-large');
    return new SealaneError('too-large', this.excess, { facts: { limit } });
  }
}

const ACCEPTED = Promise.resolve();

const isTooLarge = (error: unknown): boolean => error instanceof SealaneError && error.code === 'too-large';
