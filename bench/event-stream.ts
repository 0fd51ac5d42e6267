import { openConnection } from './client.ts';
import { within } from './load.ts';
import { rpcRequest, userMessage } from './requests.ts';

/** One event of a stream, as far as the bench looks at it. */
interface StreamEvent {
  readonly id: number | undefined;
  readonly result: {
    readonly task?: { readonly status: { readonly state: string } };
    readonly statusUpdate?: { readonly status: { readonly state: string } };
    readonly artifactUpdate?: { readonly artifact: { readonly parts: readonly { readonly text?: string }[] } };
  };
}

export interface StreamResult {
  readonly wallMs: number;
  /** From the request to the first byte of the first event. */
  readonly firstMs: number;
  /** What was wrong with the stream; `undefined` when nothing was. */
  readonly fault: string | undefined;
}

/** A server that takes longer for one stream has got stuck. */
const STREAM_TIMEOUT_MS = 120_000;

/** Both agents must stream chunks of the same size, or their times cannot be compared. */
export const CHUNK_BYTES = 100;

let streams = 0;

/**
 * Asks for a stream of `chunks` chunks and takes the time until it has ended. Only bytes are collected meanwhile; what
 * they say is checked afterwards, so that the client's parsing does not slow the server it shares the machine with.
 */
export const readStream = async (port: number, chunks: number, signal: AbortSignal): Promise<StreamResult> => {
  using connection = await openConnection(port);
  const message = userMessage(`stream-${++streams}-${chunks}`, `@stream ${chunks} 0`);
  const request = rpcRequest('SendStreamingMessage', { message });
  const pieces: Buffer[] = [];
  let firstMs = Number.NaN;
  const started = performance.now();
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  connection.send(request, {
    body: (chunk) => {
      if (pieces.length === 0) firstMs = performance.now() - started;
      pieces.push(Buffer.from(chunk));
    },
    end: resolve,
    fail: reject,
  });
  const status = await within(promise, STREAM_TIMEOUT_MS, signal);
  const wallMs = performance.now() - started;
  const text = Buffer.concat(pieces).toString();
  return { wallMs, firstMs, fault: status === 200 ? faultOf(text, chunks) : `HTTP ${status}: ${text}` };
};

/** All chunks, in order, of the promised size; numbered without gap where there are numbers; completed at the end. */
const faultOf = (text: string, chunks: number): string | undefined => {
  let events: readonly StreamEvent[];
  try {
    events = text.split(/\r?\n\r?\n/).flatMap((block) => parseEvent(block) ?? []);
  } catch (error) {
    return `not a stream of results: ${(error as Error).message}`;
  }
  const texts = events.flatMap(
    ({ result }) => result.artifactUpdate?.artifact.parts.map((part) => part.text ?? '') ?? [],
  );
  if (texts.length !== chunks) return `${texts.length} chunks instead of ${chunks}`;
  const odd = texts.find((text) => Buffer.byteLength(text) !== CHUNK_BYTES);
  if (odd !== undefined) return `a chunk of ${Buffer.byteLength(odd)} bytes instead of ${CHUNK_BYTES}: ${odd}`;
  const numbers = texts.map((text) => Number(/\d+/.exec(text)?.[0]));
  const jump = numbers.findIndex((number, index) => number !== (numbers[0] as number) + index);
  if (jump >= 0) return `chunk ${jump} is out of order: ${texts[jump]}`;
  const ids = events.flatMap(({ id }) => id ?? []);
  if (ids.length > 0 && ids.length !== events.length) return `only ${ids.length} of ${events.length} events have an id`;
  const gap = ids.findIndex((id, index) => id !== (ids[0] as number) + index);
  if (gap >= 0) return `event ${gap} has the id ${ids[gap]} after ${ids[gap - 1]}`;
  const last = events.at(-1)?.result;
  const state = (last?.statusUpdate ?? last?.task)?.status.state;
  return state === 'TASK_STATE_COMPLETED' ? undefined : `the stream ended with ${JSON.stringify(last)}`;
};

const parseEvent = (block: string): StreamEvent | undefined => {
  let id: number | undefined;
  let data = '';
  for (const line of block.split(/\r?\n/)) {
    if (line.startsWith('id:')) id = Number(line.slice(3));
    else if (line.startsWith('data:')) data += line.slice(5);
  }
  // A comment, such as a heartbeat, has no data.
  if (data === '') return undefined;
  const { result, error } = JSON.parse(data) as { readonly result?: StreamEvent['result']; readonly error?: unknown };
  if (!result) throw new Error(JSON.stringify(error));
  return { id, result };
};
