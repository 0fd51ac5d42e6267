import { once } from 'node:events';
import { MessageChannel, type MessagePort } from 'node:worker_threads';

import { expect, it, onTestFinished } from 'vitest';

import { answerRequests } from './answer-requests.ts';
import { plainError, type WorkerReply, type WorkerRequest } from './worker-messages.ts';

const call = (name: string): WorkerRequest => [[name, []]];

/** A thread's side that writes down what it is asked for, and does so many calls at once at most. */
const serve = (atOnce = 1000) => {
  const { port1: own, port2: there } = new MessageChannel();
  onTestFinished(() => own.close());
  const done: string[] = [];
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
        const now = calls.slice(0, atOnce);
        done.push(now.map(([name]) => name).join());
        return now.map(([name]) => JSON.stringify({ ok: true, value: name }));
      },
    },
  );
  return { own, done };
};

/** Sends all of them before the thread looks, and waits for so many replies. */
const replies = async (own: MessagePort, requests: readonly WorkerRequest[], count: number): Promise<WorkerReply[]> => {
  const texts: WorkerReply[] = [];
  own.on('message', (text: string) => texts.push(JSON.parse(text) as WorkerReply));
  for (const request of requests) own.postMessage(request.map((one) => JSON.stringify(one)));
  while (texts.length < count) await once(own, 'message');
  own.removeAllListeners('message');
  return texts;
};

const wordsOf = ({ outcomes }: WorkerReply): string =>
  outcomes.map((outcome) => (outcome.ok ? String(outcome.value) : outcome.error.message)).join();

it('requests that are there at once are done and answered at once', async () => {
  const { own, done } = serve();
  const told = await replies(own, [call('admit'), [...call('finish'), ...call('read')], call('append')], 1);
  expect(told.map(wordsOf)).toEqual(['admit,finish,read,append']);
  expect(done).toEqual(['admit,finish,read,append']);
});

it('something special waits for what came before it, which does not wait for it', async () => {
  const { own, done } = serve();
  const told = await replies(own, [call('admit'), call('refuse'), call('finish')], 3);
  expect(told.map(wordsOf)).toEqual(['admit', 'refused', 'finish']);
  expect(done).toEqual(['admit', 'refuse', 'finish']);
});

it('what is too much for one answer gets several, in order', async () => {
  const { own, done } = serve(2);
  const told = await replies(own, [[...call('a'), ...call('read')], call('read'), call('b'), call('c')], 3);
  expect(told.map(wordsOf)).toEqual(['a,read', 'read,b', 'c']);
  expect(done).toEqual(['a,read', 'read,b', 'c']);
});

it('no caller waits for an endless batch', async () => {
  const { own, done } = serve();
  await replies(
    own,
    Array.from({ length: 2000 }, (_, number) => call(`c${number}`)),
    4,
  );
  expect(done.map((names) => names.split(',').length)).toEqual([512, 512, 512, 464]);
});

it('only what writes has a time for it', async () => {
  const { own } = serve(1);
  const told = await replies(own, [call('read'), call('write')], 2);
  expect(told.map(({ commitMs }) => commitMs === null)).toEqual([true, false]);
});
