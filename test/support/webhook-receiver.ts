import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';

/** A request that a webhook got. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Somebody else's server, which a test's webhooks lead to. */
export interface WebhookReceiver extends AsyncDisposable {
  readonly url: string;
  /** What came in at a path, in order. */
  at(path: string): readonly Received[];
  /** The first so many at a path, once they are there. */
  first(path: string, count: number): Promise<readonly Received[]>;
  /** Everything at a path up to one that is like that. */
  until(path: string, isLast: (received: Received) => boolean): Promise<readonly Received[]>;
  /** Answers requests at a path in another way than with an empty 200. */
  answer(path: string, answer: (response: ServerResponse) => void): void;
}

export const startReceiver = async (): Promise<WebhookReceiver> => {
  const received: Received[] = [];
  const answers = new Map<string, (response: ServerResponse) => void>();
  const waiting = new Set<() => void>();
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8');
    request.on('data', (data: string) => (text += data));
    request.on('end', () => {
      const path = request.url ?? '';
      received.push({ path, headers: request.headers, text, body: JSON.parse(text) as Received['body'] });
      const answer = answers.get(path);
      if (answer) answer(response);
      else response.end();
      for (const look of waiting) look();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const at = (path: string): readonly Received[] => received.filter((request) => request.path === path);
  const when = (ask: () => readonly Received[] | undefined): Promise<readonly Received[]> =>
    new Promise((resolve) => {
      const look = (): void => {
        const found = ask();
        if (!found) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      look();
    });
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address ? address.port : ''}`,
    at,
    first: (path, count) =>
      when(() => {
        const all = at(path);
        return all.length >= count ? all.slice(0, count) : undefined;
      }),
    until: (path, isLast) =>
      when(() => {
        const all = at(path);
        const last = all.findIndex(isLast);
        return last === -1 ? undefined : all.slice(0, last + 1);
      }),
    answer: (path, answer) => answers.set(path, answer),
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
};

interface StatusUpdate {
  readonly statusUpdate?: { readonly status: { readonly state: string } };
}

/** The state that a notification of 1.0 speaks of, if it does. */
export const stateIn = ({ body }: Received): string | undefined => (body as StatusUpdate).statusUpdate?.status.state;

export const isEnd = (received: Received): boolean =>
  /_(COMPLETED|FAILED|CANCELED|REJECTED)$/.test(stateIn(received) ?? '');
