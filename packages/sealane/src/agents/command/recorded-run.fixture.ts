import { randomUUID } from 'node:crypto';

import type { Message } from '#domain';
import { textOf } from '#domain';

import type { RunEvent, RunIo, RunRef, Turn } from '../agent-connector.ts';

export const messageOfUser = (text: string): Message => ({
  messageId: randomUUID(),
  role: 'ROLE_USER',
  parts: [{ text }],
});

export const turnOf = (text: string, overrides: Partial<Turn> = {}): Turn => ({
  taskId: 'task-1',
  contextId: 'context-1',
  owner: 'ada',
  tenant: '',
  agent: 'program',
  session: 'program//ada/context-1',
  number: 1,
  message: messageOfUser(text),
  history: () => Promise.resolve([]),
  before: () => Promise.resolve(undefined),
  references: () => Promise.resolve([]),
  metadata: {},
  runId: 'run-2',
  ancestors: ['run-1'],
  extensions: [],
  outputModes: [],
  permission: 'read-only',
  ...overrides,
});

export interface RecordedIo extends RunIo {
  readonly events: readonly RunEvent[];
  readonly refs: readonly RunRef[];
  /** Resolves with the first event, past or to come, that fits. */
  until(fits: (event: RunEvent) => boolean): Promise<RunEvent>;
  put(message: Message): void;
  abort(): void;
}

/** The engine's side of a run, as a connector sees it. */
export const recordedIo = (overrides: Partial<RunIo> = {}): RecordedIo => {
  const controller = new AbortController();
  const events: RunEvent[] = [];
  const refs: RunRef[] = [];
  const waiting = new Set<{ fits: (event: RunEvent) => boolean; resolve: (event: RunEvent) => void }>();
  const messages: Message[] = [];
  let wake: (() => void) | undefined;
  return {
    events,
    refs,
    signal: controller.signal,
    attempt: 1,
    remember: async (ref) => void refs.push(ref),
    emit: async (event) => {
      events.push(event);
      for (const one of waiting) if (one.fits(event)) one.resolve(event);
    },
    inbox: (async function* inbox() {
      for (;;) {
        const message = messages.shift();
        if (message) yield message;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    })(),
    say: (text) => ({ messageId: randomUUID(), role: 'ROLE_AGENT', parts: [{ text }] }),
    until: (fits) =>
      new Promise((resolve) => {
        const past = events.find(fits);
        if (past) resolve(past);
        else waiting.add({ fits, resolve });
      }),
    put: (message) => {
      messages.push(message);
      wake?.();
    },
    abort: () => controller.abort(),
    ...overrides,
  };
};

/** The text of an artifact as a reader would have put it together. */
export const textOfArtifact = (events: readonly RunEvent[], artifactId: string): string => {
  let text = '';
  for (const event of events) {
    if (event.kind !== 'artifact' || event.artifact.artifactId !== artifactId) continue;
    text = (event.append === true ? text : '') + textOf(event.artifact.parts);
  }
  return text;
};
