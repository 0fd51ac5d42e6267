import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

import type { A2aClient, RpcAnswer } from './a2a-client.ts';
import { stateOfWire } from './evidence.ts';
import { createGate } from './gate.ts';
import type { Ledger, SentMessage } from './ledger.ts';
import type { SeededRandom } from './seeded-random.ts';
import { createStreamReader } from './stream-reader.ts';

/** Clients that send, read, answer and cancel as fast as they are let, and write down what they are told. */
export interface Load extends AsyncDisposable {
  resume(): void;
  /** Resolves when every client has got, or given up on, its last answer. */
  pause(): Promise<void>;
}

export interface LoadOptions {
  readonly ledger: Ledger;
  readonly random: SeededRandom;
  /** A service that is up; waits until one is. */
  readonly target: () => Promise<A2aClient>;
  /** Lanes of each agent; every lane has one client. */
  readonly lanes: Readonly<Record<string, number>>;
  /** What is asked of the agent; by default a mixture of everything. */
  readonly orderOf?: (random: SeededRandom) => string;
  /** Between two messages of a client. */
  readonly pauseMs: readonly [low: number, high: number];
}

const TRIES = 4;
/** JSON-RPC code of `unavailable`: the only refusal that a client has to expect. */
const UNAVAILABLE = -32020;

const mixture = (random: SeededRandom): string => {
  const kind = random.next();
  if (kind < 0.8) return `work ${random.between(0, 60)} ${random.between(1, 4)}`;
  if (kind < 0.9) return 'ask';
  return kind < 0.95 ? 'fail' : `huge ${random.between(10_000, 60_000)}`;
};

export const createLoad = (options: LoadOptions): Load => {
  const { ledger, target, orderOf = mixture } = options;
  const gate = createGate();
  const stopping = new AbortController();
  const reader = createStreamReader({ ledger, target, signal: stopping.signal });

  const messageOf = (sent: SentMessage): object => ({
    messageId: sent.messageId,
    role: 'ROLE_USER',
    parts: [{ text: sent.text }],
    contextId: sent.lane,
    ...(sent.answers !== undefined && { taskId: sent.answers }),
  });

  /** One message, sent again under the same key while nobody answers, or given up. */
  const deliver = async (sent: SentMessage, agent: string, random: SeededRandom): Promise<void> => {
    const headers = { 'idempotency-key': sent.messageId };
    const params = { message: messageOf(sent) };
    const way = random.next();
    for (let times = 1; times <= TRIES && !stopping.signal.aborted; times += 1) {
      const client = await target();
      try {
        if (way < 0.4) return await streamed(client, sent, params, { headers, agent }, random);
        const configuration = { returnImmediately: way < 0.85 };
        const answer = await client.call('SendMessage', { ...params, configuration }, { headers, agent });
        if (answer.error?.code !== UNAVAILABLE) return taken(sent, answer, agent, random);
      } catch {
        // The service is gone; what it has stored, it has stored.
      }
      if (random.chance(0.3)) return;
    }
  };

  const streamed = async (
    client: A2aClient,
    sent: SentMessage,
    params: object,
    call: { readonly headers: Readonly<Record<string, string>>; readonly agent: string },
    random: SeededRandom,
  ): Promise<void> => {
    const { ended } = await reader.open(client.stream('SendStreamingMessage', params, call), (id) =>
      ledger.accepted(sent, id),
    );
    void ended.then((end) => {
      if (end?.state === 'input-required') answerTo(sent, end.taskId, call.agent, random);
    });
  };

  const taken = (sent: SentMessage, answer: RpcAnswer, agent: string, random: SeededRandom): void => {
    const task = answer.result?.['task'] as { id: string; status: { state: string } } | undefined;
    if (!task) {
      // An answer comes too late for a task that was interrupted or canceled meanwhile; anything else is a surprise.
      if (sent.answers === undefined) ledger.problem(`"${sent.text}" was refused: ${JSON.stringify(answer.error)}`);
      return;
    }
    ledger.accepted(sent, task.id);
    const state = stateOfWire(task.status.state);
    ledger.state(task.id, state);
    if (state === 'input-required') answerTo(sent, task.id, agent, random);
    else if (random.chance(0.2)) void gate.track(cancel(task.id, random));
  };

  const answerTo = (asked: SentMessage, taskId: string, agent: string, random: SeededRandom): void => {
    if (asked.answers !== undefined || !gate.isOpen || random.chance(0.3)) return;
    const text = `work ${random.between(0, 40)} 2`;
    void gate.track(
      deliver(ledger.trying({ messageId: randomUUID(), lane: asked.lane, text, answers: taskId }), agent, random),
    );
  };

  const cancel = async (taskId: string, random: SeededRandom): Promise<void> => {
    await delay(random.between(0, 80));
    const client = await target();
    ledger.cancelTried(taskId);
    try {
      const { result } = await client.call('CancelTask', { id: taskId });
      if (!result) return;
      ledger.canceled(taskId);
      ledger.state(taskId, stateOfWire((result['status'] as { state: string }).state));
    } catch {
      // Nobody answered: it may be canceled or not.
    }
  };

  const live = async (agent: string, lane: string, random: SeededRandom): Promise<void> => {
    const [low, high] = options.pauseMs;
    while (await gate.enter()) {
      const sent = ledger.trying({ messageId: randomUUID(), lane, text: orderOf(random) });
      await gate.track(deliver(sent, agent, random));
      await delay(random.between(low, high));
    }
  };

  const clients = Object.entries(options.lanes).flatMap(([agent, count]) =>
    Array.from({ length: count }, (_, index) =>
      live(agent, `${agent}-${index}`, options.random.fork(`${agent}-${index}`)),
    ),
  );
  return {
    resume: () => gate.open(),
    pause: async () => {
      gate.shut();
      await gate.idle();
      await reader.idle();
    },
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      gate.close();
      await Promise.all(clients);
    },
  };
};
