import { type Event, fold, type Message, type NewEvent, type State, type TaskSnapshot } from '#domain';
import type { NewWebhook, Refused, Result, StoredTask } from '#store';

/** What a run may report, in as few words as a test can use. */
export const agentMessage = (text: string): Message => ({
  messageId: `agent: ${text}`,
  role: 'ROLE_AGENT',
  parts: [{ text }],
});

export const chunk = (text: string, artifactId = 'answer'): NewEvent => ({
  kind: 'artifact-added',
  artifact: { artifactId, parts: [{ text }] },
  append: true,
});

export const progress = (text: string): NewEvent => ({
  kind: 'status-reported',
  state: 'working',
  message: agentMessage(text),
});

/** A question from inside a live run. */
export const question = (text: string): NewEvent => ({
  kind: 'status-reported',
  state: 'input-required',
  message: agentMessage(text),
});

export const turnEnded = (state: State, text?: string): NewEvent => ({
  kind: 'turn-ended',
  state,
  ...(text !== undefined && { message: agentMessage(text) }),
});

export const timedOut: NewEvent = { kind: 'turn-ended', state: 'failed', reason: 'timeout', forced: true };

export const webhook = (id: string, over: Partial<NewWebhook> = {}): NewWebhook => ({
  id,
  config: { url: `https://${id}.example`, token: 'a "b"' },
  limit: 20,
  ...over,
});

export const kindsOf = (events: readonly Event[]): readonly string[] => events.map(({ event }) => event.kind);
export const seqsOf = (events: readonly Event[]): readonly number[] => events.map(({ seq }) => seq);
export const idsOf = (tasks: readonly { readonly id: string }[]): readonly string[] => tasks.map(({ id }) => id);

/** The content of a stored task, in the form that folding its log gives. */
export const snapshotOf = (task: StoredTask): TaskSnapshot => ({
  state: task.state,
  statusAt: task.statusAt,
  artifacts: JSON.parse(task.artifacts) as TaskSnapshot['artifacts'],
  history: JSON.parse(task.history) as TaskSnapshot['history'],
  metadata: JSON.parse(task.metadata) as TaskSnapshot['metadata'],
  ...(task.statusMessage !== null && { statusMessage: JSON.parse(task.statusMessage) as Message }),
});

/** What a task must look like at `seq`, told by its log alone. */
export const foldedUpTo = (log: readonly Event[], seq: number): TaskSnapshot =>
  fold(
    undefined,
    log.filter((event) => event.seq <= seq),
  );

/** The value of a step that must be accepted. */
export const accepted = <T>(result: Result<T>): T => {
  if (result.ok) return result.value;
  throw new Error(`The store refused a step that it should accept: ${result.why}.`);
};

/** Why a step was refused; `accepted` when it was not. */
export const refusal = (result: Result<unknown>): Refused['why'] | 'accepted' => (result.ok ? 'accepted' : result.why);

/** Whether a step was thrown out: what nobody expects is no refusal. */
export const isRejected = (step: Promise<unknown>): Promise<boolean> =>
  step.then(
    () => false,
    () => true,
  );
