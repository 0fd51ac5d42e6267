import type { WireTask } from './a2a-client.ts';

/** One event of a stream: its number, and what stands in it. */
export interface StreamEvent {
  readonly id: number | undefined;
  readonly task?: WireTask;
  readonly message?: WireTask['history'];
  readonly statusUpdate?: {
    readonly taskId: string;
    readonly contextId: string;
    readonly status: WireTask['status'];
    readonly metadata?: Readonly<Record<string, unknown>>;
  };
  readonly artifactUpdate?: {
    readonly taskId: string;
    readonly artifact: NonNullable<WireTask['artifacts']>[number];
    readonly append?: boolean;
    readonly lastChunk?: boolean;
  };
  readonly error?: { readonly code: number; readonly message: string };
  /** The data as it came, to compare readers with. */
  readonly text: string;
}

/** A stream of events that a test reads at its own pace. */
export interface EventStream extends AsyncIterable<StreamEvent> {
  /** Undefined when the server has ended the stream. */
  next(): Promise<StreamEvent | undefined>;
  /** Reads until one is like that; throws when the stream ends before. */
  until(isWanted: (event: StreamEvent) => boolean): Promise<StreamEvent>;
  /** Everything up to the end of the stream. */
  rest(): Promise<readonly StreamEvent[]>;
  /** Comments so far: heartbeats. */
  readonly comments: readonly string[];
  readonly headers: Headers;
  /** Cuts the connection. */
  leave(): Promise<void>;
}

export const readEventStream = (response: Response): EventStream => {
  const comments: string[] = [];
  if (!response.body) throw new Error('The stream has no body.');
  const events = eventsOf(response.body.pipeThrough(new TextDecoderStream()), comments);
  const next = async (): Promise<StreamEvent | undefined> => {
    const { value, done } = await events.next();
    return done ? undefined : value;
  };
  return {
    comments,
    headers: response.headers,
    next,
    until: async (isWanted) => {
      for (;;) {
        const event = await next();
        if (!event) throw new Error('The stream ended before the awaited event.');
        if (isWanted(event)) return event;
      }
    },
    rest: async () => {
      const seen: StreamEvent[] = [];
      for (let event = await next(); event; event = await next()) seen.push(event);
      return seen;
    },
    leave: async () => {
      await events.return(undefined);
    },
    [Symbol.asyncIterator]: () => events,
  };
};

async function* eventsOf(
  texts: ReadableStream<string>,
  comments: string[],
): AsyncGenerator<StreamEvent, undefined, undefined> {
  let rest = '';
  for await (const text of texts) {
    const blocks = (rest + text).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const event = parseBlock(block, comments);
      if (event) yield event;
    }
  }
  return undefined;
}

const parseBlock = (block: string, comments: string[]): StreamEvent | undefined => {
  let id: number | undefined;
  const data: string[] = [];
  for (const line of block.split('\n')) {
    if (line.startsWith(':')) comments.push(line.slice(1).trim());
    else if (line.startsWith('id: ')) id = Number(line.slice(4));
    else if (line.startsWith('data: ')) data.push(line.slice(6));
    else throw new Error(`Not a line of an event stream: ${JSON.stringify(line)}`);
  }
  if (data.length === 0) return undefined;
  const text = data.join('\n');
  const { result, error } = JSON.parse(text) as { result?: object; error?: StreamEvent['error'] };
  return { id, ...result, ...(error && { error }), text };
};

/** The state that an event speaks of, if it does. */
export const stateOf = ({ task, statusUpdate }: StreamEvent): string | undefined =>
  (task ?? statusUpdate)?.status.state;

export const isState =
  (state: string) =>
  (event: StreamEvent): boolean =>
    stateOf(event) === state;
