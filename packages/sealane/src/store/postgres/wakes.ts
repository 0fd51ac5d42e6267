import { randomBytes } from 'node:crypto';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';

import { type Client, escapeIdentifier } from 'pg';

import type { TaskId } from '../task-store.ts';

/**
 * Tells all instances about commits. These are only hints: an instance that misses one finds the change by its next
 * poll.
 */
export interface Wakes {
  /**
   * Called after a commit. Tells the other instances the ids of tasks with new events. '' means that some lane may be
   * ready: the listeners of this instance hear of it as well, at once.
   */
  announce(wakes: ReadonlySet<string>): void;
  onWake(listener: (ids: readonly TaskId[]) => void): Disposable;
  close(): Promise<void>;
}

const LANE: ReadonlySet<string> = new Set(['']);
/** PostgreSQL refuses a payload of 8000 bytes. */
const PAYLOAD_BYTES = 7500;
/** The most hints that are kept while the connection is lost. The engine's polls find the rest. */
const MOST_UNSAID = 5000;
const NOTIFY = { name: 'notify', text: 'SELECT pg_notify($1, payload) FROM unnest($2::TEXT[]) AS payload' };
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5000;
/** How often the listening connection is asked whether it is alive, and how long the answer may take. */
const ASK_MS = 5000;
const ASK = { text: 'SELECT', query_timeout: 5000 };

/**
 * A separate connection listens and notifies. A notification is not part of the transactions that it tells about:
 * PostgreSQL commits only one transaction with a notification at a time, so each writer would wait for the disk of the
 * others. So the notification follows the commit. One tells about all commits that happened while the last one was in
 * flight.
 *
 * Resolves after the first attempt to connect. Where LISTEN does not work, only the engine's polls find changes.
 */
export const openWakes = async (connect: () => Client, channel: string): Promise<Wakes> => {
  const listeners = new Set<(ids: readonly TaskId[]) => void>();
  const me = randomBytes(6).toString('base64url');
  const closing = new AbortController();
  let connection: Client | undefined;
  let unsaid = new Set<string>();
  let saying: Promise<void> | undefined;

  const tell = (wakes: ReadonlySet<string>): void => {
    const ids = [...wakes].filter((id) => id !== '');
    for (const listener of listeners) {
      if (ids.length > 0) listener(ids);
      if (wakes.has('')) listener([]);
    }
  };

  const keep = (wakes: ReadonlySet<string>): void => {
    for (const wake of wakes) unsaid.add(wake);
    if (unsaid.size > MOST_UNSAID) unsaid = new Set(LANE);
  };

  /** Self-clocking: hints that come in while one notification is in flight go into the next. */
  const say = async (): Promise<void> => {
    // All commits of one turn of the event loop go into one notification.
    await nextTurn();
    for (let client = connection; client && unsaid.size > 0; client = connection) {
      const wakes = unsaid;
      unsaid = new Set();
      try {
        await client.query({ ...NOTIFY, values: [channel, payloadsOf(me, wakes)] });
      } catch {
        // The connection is lost. The next one sends these hints.
        keep(wakes);
        break;
      }
    }
    saying = undefined;
  };
  const saySoon = (): void => {
    saying ??= say();
  };

  const listen = async (onTried: () => void): Promise<void> => {
    let pauseMs = FIRST_PAUSE_MS;
    while (!closing.signal.aborted) {
      const client = connect();
      const ended = new Promise<void>((resolve) => client.once('end', resolve).once('error', () => resolve()));
      client.on('notification', ({ payload = '' }) => {
        const heard = heardFrom(payload);
        if (heard.by !== me) tell(heard.wakes);
      });
      try {
        await client.connect();
        await client.query(`LISTEN ${escapeIdentifier(channel)}`);
        connection = client;
        pauseMs = FIRST_PAUSE_MS;
        onTried();
        // Hints that came while this instance did not listen are lost: look again.
        tell(LANE);
        saySoon();
        await Promise.race([ended, silence(client, closing.signal), aborted(closing.signal)]);
      } catch {
        onTried();
      }
      connection = undefined;
      await client.end().catch(() => {});
      await delay(pauseMs * (0.5 + Math.random()), undefined, { signal: closing.signal }).catch(() => {});
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    }
  };
  let listening: Promise<void> | undefined;
  await new Promise<void>((resolve) => {
    listening = listen(resolve);
  });

  return {
    announce: (wakes) => {
      if (wakes.size === 0) return;
      // A caller that has committed here knows its own events.
      if (wakes.has('')) tell(LANE);
      keep(wakes);
      saySoon();
    },
    onWake: (listener) => {
      listeners.add(listener);
      return { [Symbol.dispose]: () => listeners.delete(listener) };
    },
    close: async () => {
      await saying;
      closing.abort();
      await listening;
    },
  };
};

/**
 * Resolves when the connection no longer answers. A connection that only listens sends nothing, so it would not notice
 * for a quarter of an hour that the server has silently gone.
 */
const silence = async (client: Client, closing: AbortSignal): Promise<void> => {
  try {
    for (;;) {
      await delay(ASK_MS, undefined, { signal: closing, ref: false });
      await client.query(ASK);
    }
  } catch {
    if (!closing.aborted) client.connection.stream.destroy();
  }
};

/** JSON of the sender and of the ids, because ids may be texts of callers. */
const payloadsOf = (me: string, wakes: ReadonlySet<string>): string[] => {
  const payloads: string[] = [];
  let batch: string[] = [me];
  let bytes = 0;
  for (const wake of wakes) {
    const size = Buffer.byteLength(JSON.stringify(wake)) + 1;
    const id = size > PAYLOAD_BYTES / 2 ? '' : wake;
    if (bytes + size > PAYLOAD_BYTES - 100) {
      payloads.push(JSON.stringify(batch));
      batch = [me];
      bytes = 0;
    }
    batch.push(id);
    bytes += id === '' ? 3 : size;
  }
  return [...payloads, JSON.stringify(batch)];
};

const heardFrom = (payload: string): { readonly by: string; readonly wakes: ReadonlySet<string> } => {
  try {
    const [by, ...wakes] = JSON.parse(payload) as string[];
    return { by: by ?? '', wakes: new Set(wakes) };
  } catch {
    return { by: '', wakes: LANE };
  }
};

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
