import { textOf, type Artifact, type Message, type Part, type State } from '#domain';

import type { Output } from './output.ts';
import { oneLine } from './printable.ts';
import { stateOf, type StreamResponse, type WireStatus } from './wire.ts';

/** What is known of a task after everything shown so far. */
export interface Shown {
  readonly taskId: string | undefined;
  readonly contextId: string | undefined;
  readonly state: State | undefined;
  /** What the agent said with its last status: a question, a reason. */
  readonly statusText: string;
}

export interface TaskPrinter {
  show(response: StreamResponse): void;
  /** Ends the line that is being written and answers what was shown. */
  end(): Shown;
}

const KEPT = 64 * 1024;

/** Writes an agent's answer to stdout as it comes, and what it says besides to stderr. */
export const createTaskPrinter = (output: Output): TaskPrinter => {
  /** Text shown per artifact: a snapshot after a broken line must not repeat it. */
  const shownText = new Map<string, number>();
  let current: string | undefined;
  let isMidLine = false;
  /** What was written, to tell a last word that repeats it; a long answer is not kept whole. */
  let answer = '';
  let shown: Shown = { taskId: undefined, contextId: undefined, state: undefined, statusText: '' };

  const write = (text: string) => {
    if (text === '') return;
    output.stream(text);
    isMidLine = !text.endsWith('\n');
    answer = (answer + text).slice(-KEPT);
  };
  const finishLine = () => {
    if (isMidLine) output.stream('\n');
    isMidLine = false;
  };
  const showOthers = (parts: readonly Part[]) => {
    for (const part of parts.filter(({ text }) => text === undefined)) {
      finishLine();
      write(`${describePart(part)}\n`);
    }
  };

  const showArtifact = ({ artifactId, parts }: Artifact, append: boolean) => {
    if (artifactId !== current) finishLine();
    current = artifactId;
    const known = shownText.get(artifactId);
    if (!append && known !== undefined && known > 0) {
      finishLine();
      output.note('The agent starts over:');
    }
    const text = textOf(parts);
    shownText.set(artifactId, (append ? (known ?? 0) : 0) + text.length);
    write(text);
    showOthers(parts);
  };

  /** A whole artifact: only what is beyond the text shown already is new. */
  const showSnapshot = ({ artifactId, parts }: Artifact) => {
    const known = shownText.get(artifactId);
    const text = textOf(parts);
    if (known !== undefined && text.length <= known) return;
    if (artifactId !== current) finishLine();
    current = artifactId;
    shownText.set(artifactId, text.length);
    write(text.slice(known ?? 0));
    if (known === undefined) showOthers(parts);
  };

  const showStatus = (status: WireStatus) => {
    const state = stateOf(status);
    const statusText = status.message ? messageText(status.message) : '';
    shown = { ...shown, state, statusText };
    if (statusText === '') return;
    if (state === 'completed' && answer === '') write(statusText);
    else if (state === 'working' || (state === 'completed' && !answer.includes(statusText.trim().slice(0, KEPT)))) {
      finishLine();
      output.note(`… ${oneLine(statusText)}`);
    }
  };

  return {
    show: ({ task, message, statusUpdate, artifactUpdate }) => {
      if (task) {
        shown = { ...shown, taskId: task.id, contextId: task.contextId };
        for (const artifact of task.artifacts ?? []) showSnapshot(artifact);
        showStatus(task.status);
      } else if (message) {
        shown = { ...shown, contextId: message.contextId };
        write(textOf(message.parts));
        showOthers(message.parts);
      } else if (artifactUpdate) {
        shown = { ...shown, taskId: artifactUpdate.taskId };
        showArtifact(artifactUpdate.artifact, artifactUpdate.append === true);
      } else if (statusUpdate) {
        shown = { ...shown, taskId: statusUpdate.taskId };
        showStatus(statusUpdate.status);
      }
    },
    end: () => {
      finishLine();
      return shown;
    },
  };
};

export const messageText = ({ parts }: Message): string =>
  parts.map((part) => part.text ?? describePart(part)).join('');

/** A part that is not text, in a line. */
export const describePart = ({ data, filename, mediaType, raw, url }: Part): string => {
  if (data !== undefined) return JSON.stringify(data);
  const size = raw === undefined ? undefined : `${Math.floor((raw.replace(/=+$/, '').length * 3) / 4)} bytes`;
  return `[${['file', filename, mediaType, url ?? size].filter((fact) => fact !== undefined).join(', ')}]`;
};
