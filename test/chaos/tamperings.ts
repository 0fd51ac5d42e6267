import type { Event, NewEvent } from '#domain';

import type { Evidence, TaskEvidence } from './evidence.ts';

/** A breach of one promise, made by hand in true evidence. `task` is a completed one with several chunks. */
export interface Tampering {
  readonly what: string;
  readonly finds: RegExp;
  readonly tamper: (evidence: Evidence, task: TaskEvidence) => Evidence;
}

const replace = (evidence: Evidence, task: TaskEvidence, change: Partial<TaskEvidence>): Evidence => ({
  ...evidence,
  // What earlier checks saw is not the point here; it would be found as well.
  memory: new Map(),
  tasks: evidence.tasks.map((one) => (one === task ? { ...task, ...change } : one)),
});

/** As if those had been the events from the beginning, numbered without gap. */
const withEvents = (evidence: Evidence, task: TaskEvidence, facts: readonly NewEvent[]): Evidence => {
  const events: Event[] = facts.map((event, index) => ({ seq: index + 1, at: task.statusAt, event }));
  return replace(evidence, task, { events, lastSeq: events.length });
};
const factsOf = ({ events }: TaskEvidence): readonly NewEvent[] => events.map(({ event }) => event);

const started = (attempt: number): NewEvent => ({ kind: 'run-started', state: 'working', attempt });
const chunk = (text: string): NewEvent => ({
  kind: 'artifact-added',
  artifact: { artifactId: 'answer-1', parts: [{ text }] },
});
const ended = (more: Partial<Extract<NewEvent, { kind: 'turn-ended' }>>): NewEvent => ({
  kind: 'turn-ended',
  state: 'failed',
  ...more,
});

/** The task's log up to its first start, and then these. */
const afterStart = (task: TaskEvidence, facts: readonly NewEvent[]): readonly NewEvent[] => {
  const all = factsOf(task);
  return [...all.slice(0, all.findIndex(({ kind }) => kind === 'run-started') + 1), ...facts];
};

const firstTold = ({ ledger, tasks }: Evidence): { readonly task: TaskEvidence; readonly seq: number } => {
  for (const [id, events] of ledger.events) {
    const task = tasks.find((one) => one.id === id);
    const seq = Math.max(...events.keys());
    if (task && seq > 2) return { task, seq };
  }
  throw new Error('No client has read a stream.');
};

export const tamperings: readonly Tampering[] = [
  {
    what: 'an acknowledged task that is missing',
    finds: /was acknowledged and is missing/,
    tamper: (evidence, task) => ({ ...evidence, tasks: evidence.tasks.filter((one) => one !== task) }),
  },
  {
    what: 'an acknowledged message that is missing from its task',
    finds: /was acknowledged and is not in task/,
    tamper: (evidence, task) => replace(evidence, task, { messageIds: [] }),
  },
  {
    what: 'a message that became two tasks',
    finds: /was sent under one key and is in 2 tasks/,
    tamper: (evidence, task) => ({ ...evidence, tasks: [...evidence.tasks, { ...task, id: 'another' }] }),
  },
  {
    what: 'an event that was told and is missing',
    finds: /was told and is missing/,
    tamper: (evidence) => {
      const { task, seq } = firstTold(evidence);
      return replace(evidence, task, { events: task.events.filter((event) => event.seq < seq) });
    },
  },
  {
    what: 'an event that was told otherwise',
    finds: /was told as/,
    tamper: (evidence) => {
      const { task, seq } = firstTold(evidence);
      const events = task.events.map((event) =>
        event.seq === seq ? { ...event, event: chunk('something else') } : event,
      );
      return replace(evidence, task, { events });
    },
  },
  {
    what: 'a gap in the numbers',
    finds: /event 2 is missing; event 3 stands in its place/,
    tamper: (evidence, task) => replace(evidence, task, { events: task.events.filter(({ seq }) => seq !== 2) }),
  },
  {
    what: 'a terminal state that has changed',
    finds: /had ended as completed, and is failed/,
    tamper: (evidence, task) => ({ ...replace(evidence, task, { state: 'failed' }), memory: evidence.memory }),
  },
  {
    what: 'an event that has changed since it was seen',
    finds: /has changed or gone since the last check/,
    tamper: (evidence, task) => ({
      ...replace(evidence, task, {
        events: task.events.map((event) => ({ ...event, at: '2001-01-01T00:00:00.000Z' })),
      }),
      memory: evidence.memory,
    }),
  },
  {
    what: 'something written after the end',
    finds: /follows its end as completed/,
    tamper: (evidence, task) => withEvents(evidence, task, [...factsOf(task), started(2)]),
  },
  {
    what: 'a move that no task may make',
    finds: /moves it from submitted to completed/,
    tamper: (evidence, task) =>
      withEvents(
        evidence,
        task,
        factsOf(task).filter(({ kind }) => kind !== 'run-started'),
      ),
  },
  {
    what: 'an event of a lost run',
    finds: /has the chunk "1.2;" of another attempt/,
    tamper: (evidence, task) =>
      withEvents(
        evidence,
        task,
        afterStart(task, [
          chunk('1.1;'),
          { kind: 'run-lost', state: 'working', attempt: 1, retry: true },
          started(2),
          chunk('1.2;'),
        ]),
      ),
  },
  {
    what: 'an end by a lost run',
    finds: /was ended by attempt 1, but attempt 2 was current/,
    tamper: (evidence, task) =>
      withEvents(
        evidence,
        task,
        afterStart(task, [
          { kind: 'run-lost', state: 'working', attempt: 1, retry: true },
          started(2),
          ended({ state: 'completed', metadata: { attempt: 1, chunks: 1 } }),
        ]),
      ),
  },
  {
    what: 'a chunk that was written twice',
    finds: /has chunk 1 where chunk 2 belongs/,
    tamper: (evidence, task) =>
      withEvents(
        evidence,
        task,
        factsOf(task).flatMap((fact): NewEvent[] => (fact.kind === 'artifact-added' ? [fact, fact] : [fact])),
      ),
  },
  {
    what: 'an answer that is incomplete',
    finds: /chunks, but its log has/,
    tamper: (evidence, task) =>
      withEvents(
        evidence,
        task,
        factsOf(task).toSpliced(
          factsOf(task).findLastIndex(({ kind }) => kind === 'artifact-added'),
          1,
        ),
      ),
  },
  {
    what: 'two runs at once in a lane',
    finds: /Two runs at once in lane/,
    tamper: (evidence) => {
      const last = evidence.audit.findLast(({ what }) => what === 'start');
      const earlier = evidence.audit.find((line) => line.what === 'start' && line.lane === last?.lane);
      return {
        ...evidence,
        audit: evidence.audit.map((line) => (line === last ? { ...line, at: (earlier?.at ?? 0) + 0.001 } : line)),
      };
    },
  },
  {
    what: 'an attempt that ran twice',
    finds: /The same attempt ran 2 times/,
    tamper: (evidence) => ({ ...evidence, audit: [...evidence.audit, ...evidence.audit.slice(0, 1)] }),
  },
  {
    what: 'tasks that started out of order',
    finds: /which was admitted earlier/,
    tamper: (evidence) => ({ ...evidence, audit: evidence.audit.map((line) => ({ ...line, at: -line.at })) }),
  },
  {
    what: 'a task that is stuck',
    finds: /is stuck: it is working/,
    tamper: (evidence, task) => ({
      ...withEvents(evidence, { ...task }, []),
      tasks: evidence.tasks.map((one) => (one === task ? { ...task, state: 'working' } : one)),
    }),
  },
  {
    what: 'a lane that is held by nobody',
    finds: /Lane x is not empty: 0 waiting, running nothing/,
    tamper: (evidence) => ({ ...evidence, lanes: [{ key: 'x', waiting: 0, running: null }] }),
  },
  {
    what: 'a cancel that was accepted and forgotten',
    finds: /was canceled while it was open, and is completed/,
    tamper: (evidence, task) => ({ ...evidence, ledger: { ...evidence.ledger, cancels: new Set([task.id]) } }),
  },
  {
    what: 'a cancel that nobody asked for',
    finds: /is canceled, and nobody asked for that/,
    tamper: (evidence, task) => replace(evidence, task, { state: 'canceled' }),
  },
  {
    what: 'an interruption without a reason',
    finds:
      /failed as interrupted, and nothing had happened to its process|failed as interrupted after attempt 1, and had 3/,
    tamper: (evidence, task) => {
      const tampered = withEvents(evidence, task, afterStart(task, [ended({ reason: 'interrupted' })]));
      return {
        ...tampered,
        tasks: tampered.tasks.map((one) => (one.id === task.id ? { ...one, state: 'failed' } : one)),
      };
    },
  },
];
