import { once } from 'node:events';
import { MessageChannel, type MessagePort } from 'node:worker_threads';

import { describe, expect, it, onTestFinished } from 'vitest';

import { answerRequests } from './answer-requests.ts';
import { plainError, type WorkerMessage, type WorkerReply, type WorkerRequest } from './worker-messages.ts';

const call = (name: string): WorkerRequest => [[name, []]];
const admission = (name: string): WorkerMessage => ({ admissions: call(name) });

/** A thread's side whose disk writes down what it is asked for, and what was replied to before and after it. */
const serve = (options: { readonly isBroken?: boolean } = {}) => {
  const { port1: own, port2: there } = new MessageChannel();
  onTestFinished(() => own.close());
  const done: string[] = [];
  let isDurable = true;
  answerRequests(
    there,
    {
      refuse: () => {
        done.push('refuse');
        throw new Error('refused');
      },
    },
    (thrown) => plainError(thrown, 'file'),
    {
      isRead: (calls) => calls.every(([name]) => name.startsWith('read')),
      perform: (calls) => {
        done.push(`do ${calls.map(([name]) => name).join()}`);
        if (calls.some(([name]) => !name.startsWith('read'))) isDurable = false;
        return calls.map(([name]) => JSON.stringify({ ok: true, value: name }));
      },
      sync: () => {
        if (!isDurable) done.push('sync');
        isDurable = true;
        if (options.isBroken) throw new Error('The disk is gone.');
      },
      isDurable: () => isDurable,
    },
  );
  return { own, done };
};

/** Sends all of them before the thread looks, and waits for so many replies. */
const replies = async (own: MessagePort, messages: readonly WorkerMessage[], count: number): Promise<WorkerReply[]> => {
  const texts: WorkerReply[] = [];
  own.on('message', (text: string) => texts.push(JSON.parse(text) as WorkerReply));
  for (const message of messages) own.postMessage(JSON.stringify(message));
  while (texts.length < count) await once(own, 'message');
  own.removeAllListeners('message');
  return texts;
};

const wordsOf = ({ outcomes, admitted, failure }: WorkerReply): string =>
  `${outcomes.map((outcome) => (outcome.ok ? String(outcome.value) : outcome.error.message)).join()}${
    admitted ? ` ${admitted}` : ''
  }${failure ? ' failed' : ''}`;

describe('admissions', () => {
  it('are answered when they are written, and share the sync of what comes with them', async () => {
    const { own, done } = serve();
    const told = await replies(own, [call('finish'), admission('admit a'), admission('admit b'), call('read')], 2);
    expect(told.map(wordsOf)).toEqual(['admit a,admit b written', 'finish,read']);
    expect(done).toEqual(['do admit a,admit b', 'do finish,read', 'sync']);
    expect(told.map(({ commitMs }) => commitMs === null)).toEqual([true, false]);
  });

  it('are synced before a read is answered', async () => {
    const { own, done } = serve();
    const told = await replies(own, [admission('admit'), call('read')], 2);
    expect(told.map(wordsOf)).toEqual(['admit written', 'read']);
    expect(done).toEqual(['do admit', 'do read', 'sync']);
  });

  it('are synced a moment later when nothing comes', async () => {
    const { own, done } = serve();
    const told = await replies(own, [admission('admit')], 2);
    expect(told.map(wordsOf)).toEqual(['admit written', '']);
    expect(done).toEqual(['do admit', 'sync']);
  });

  it('are synced before anything special, which may fail', async () => {
    const { own, done } = serve();
    const told = await replies(own, [admission('admit'), call('refuse')], 3);
    expect(told.map(wordsOf)).toEqual(['admit written', '', 'refused']);
    expect(done).toEqual(['do admit', 'sync', 'refuse']);
  });

  it('that cannot be synced are refused together with what came with them', async () => {
    const { own } = serve({ isBroken: true });
    const told = await replies(own, [admission('admit'), call('finish')], 2);
    expect(told.map(wordsOf)).toEqual(['admit written', 'The disk is gone. failed']);
  });

  it('do not wait for ever for more of their kind', async () => {
    const { own, done } = serve();
    const many = Array.from({ length: 2000 }, (_, number) => admission(`a${number}`));
    await replies(own, many, 6);
    // At most 512 are done at once: the sync follows the second round, whatever else is there.
    expect(done.indexOf('sync')).toBe(2);
  });
});

it('who only reads is answered without a sync, and without a time for one', async () => {
  const { own, done } = serve();
  const [told] = await replies(own, [call('read')], 1);
  expect(told).toMatchObject({ commitMs: null });
  expect(done).toEqual(['do read']);
});
