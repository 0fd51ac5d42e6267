import type { NewEvent } from '#domain';

import {
  accepted,
  chunk,
  foldedUpTo,
  kindsOf,
  progress,
  question,
  seqsOf,
  snapshotOf,
  turnEnded,
} from './contract-events.ts';
import type { Suite } from './suite.ts';

const END = turnEnded('completed', 'hi');
const whole = (text: string, artifactId = 'answer'): NewEvent => ({
  kind: 'artifact-added',
  artifact: { artifactId, parts: [{ text }] },
  lastChunk: true,
});

/** Texts of every length: short ones stay events, long ones are folded. */
const ANSWERS: Readonly<Record<string, readonly NewEvent[]>> = {
  'nothing but its end': [turnEnded('completed')],
  'an end with words': [END],
  'an artifact': [whole('hi'), END],
  'artifacts in pieces': [chunk('a'), chunk('b'), chunk('c', 'other'), END],
  'a status on its way': [progress('soon'), whole('hi'), END],
  'a question and work again': [question('what?'), progress('oh'), END],
  'a failure': [{ kind: 'turn-ended', state: 'failed', reason: 'agent', metadata: { a: 1 } }],
  'a long text': [whole('x'.repeat(10_000)), END],
  'a very long text': [whole('x'.repeat(300_000)), END],
};

export const describeAnswers = ({ it, expect }: Suite): void => {
  for (const [name, answer] of Object.entries(ANSWERS)) {
    it(`a turn that ends with ${name} is read as its log says, one by one and in lists`, async (c) => {
      const me = await c.instance();
      const { task, events, run } = await c.admit({ slot: { instance: me }, metadata: { plan: 7 } });
      if (!run) throw new Error('A turn with a slot and an idle lane did not start.');
      expect(kindsOf(events)).toEqual(['task-admitted', 'run-started']);
      expect(task).toMatchObject({ state: 'working', seq: 2 });
      const finished = accepted(await c.tasks.finish(run.token, answer, c.later(), true));
      expect(finished.events.map(({ event }) => event)).toEqual(answer);
      const log = await c.log(task.id);
      expect(log).toEqual([...events, ...finished.events]);
      expect(seqsOf(log)).toEqual(log.map((_, index) => index + 1));
      const found = await c.task(task.id);
      expect(found).toEqual(finished.task);
      expect(snapshotOf(found)).toEqual(foldedUpTo(log, log.length));
      expect((await c.list({ states: [found.state] })).tasks).toEqual([found]);
      expect((await c.list({ states: ['working', 'submitted'] })).tasks).toEqual([]);
    });
  }
};
