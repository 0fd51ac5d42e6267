import { openConnection, type Connection } from './client.ts';
import { createSamples, percentile } from './statistics.ts';

/** What a load run sends, and how it tells a right answer from a wrong one. */
export interface Workload {
  request(n: number): string;
  /** Says what is wrong with the answer to request `n`; `undefined` when nothing is. */
  fault(n: number, body: Buffer): string | undefined;
}

export interface LoadResult {
  /** Answered, rightly or not. */
  readonly requests: number;
  readonly errors: number;
  readonly firstError: string | undefined;
  /** Right answers only. */
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface LoadOptions {
  readonly port: number;
  readonly connections: number;
  readonly durationMs: number;
  readonly signal: AbortSignal;
  /** Stop before the time is over when this many requests were sent: a task can be canceled only once. */
  readonly atMost?: number;
}

/** A server that has not answered for this long has lost a request. */
const ANSWER_TIMEOUT_MS = 15_000;

/** Numbers are never used twice, so no two messages of a bench are the same. */
let nextNumber = 1;

/**
 * Keeps `connections` requests in flight for a while: each connection sends its next request when its last is
 * answered. Ends when the last answer is in.
 */
export const runLoad = async (workload: Workload, options: LoadOptions): Promise<LoadResult> => {
  using stack = new DisposableStack();
  const connections = await Promise.all(
    Array.from({ length: options.connections }, () => openConnection(options.port)),
  );
  for (const connection of connections) stack.use(connection);

  const tally = createTally();
  const started = performance.now();
  const deadline = started + options.durationMs;
  let left = options.atMost ?? Number.POSITIVE_INFINITY;
  const mayGoOn = (now: number): boolean => now < deadline && left-- > 0;
  const loops = connections.map((connection) =>
    keepBusy(connection, workload, mayGoOn, tally.answered).catch((error: Error) => tally.failed(error.message)),
  );
  await within(Promise.all(loops), options.durationMs + ANSWER_TIMEOUT_MS, options.signal);
  return summaryOf(tally, performance.now() - started);
};

/** What is counted while a load runs. */
export interface Tally {
  readonly answered: (latencyMs: number, error: string | undefined) => void;
  readonly failed: (error: string) => void;
  readonly latencies: ReturnType<typeof createSamples>;
  readonly counts: { right: number; errors: number; firstError: string | undefined };
}

export const createTally = (): Tally => {
  const latencies = createSamples();
  const counts: Tally['counts'] = { right: 0, errors: 0, firstError: undefined };
  const failed = (error: string): void => {
    counts.errors++;
    counts.firstError ??= error;
  };
  return {
    latencies,
    counts,
    failed,
    answered: (latencyMs, error) => {
      latencies.add(latencyMs);
      if (error === undefined) counts.right++;
      else failed(error);
    },
  };
};

export const summaryOf = ({ latencies, counts }: Tally, elapsedMs: number): LoadResult => {
  const sorted = latencies.sorted();
  return {
    requests: sorted.length,
    errors: counts.errors,
    firstError: counts.firstError,
    perSecond: (counts.right / elapsedMs) * 1000,
    p50Ms: percentile(sorted, 0.5),
    p99Ms: percentile(sorted, 0.99),
  };
};

/** What went wrong in a load run, for the list of errors; nothing when nothing did. */
export const complaintsOf = (what: string, { errors, firstError }: LoadResult): readonly string[] =>
  errors > 0 ? [`${what}: ${errors} errors, the first: ${firstError}`] : [];

/** One connection's loop. It runs on callbacks: a promise per request would cost more than the request. */
const keepBusy = (
  connection: Connection,
  workload: Workload,
  mayGoOn: (now: number) => boolean,
  answered: (latencyMs: number, error: string | undefined) => void,
): Promise<void> => {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let n = 0;
  let sentAt = 0;
  let body: Buffer | undefined;
  /** Pieces of a long answer. They are joined once, at its end: joining them as they come would copy each many times. */
  let pieces: Buffer[] = [];
  const next = (): void => {
    n = nextNumber++;
    body = undefined;
    sentAt = performance.now();
    connection.send(workload.request(n), exchange);
  };
  const exchange = {
    // Nearly every answer arrives in one piece, and is then checked where it lies.
    body: (chunk: Buffer, last: boolean) => {
      if (last && pieces.length === 0) body = chunk;
      else pieces.push(Buffer.from(chunk));
    },
    end: (status: number) => {
      const now = performance.now();
      if (pieces.length > 0) {
        body = Buffer.concat(pieces);
        pieces = [];
      }
      const error = status === 200 ? workload.fault(n, body ?? Buffer.alloc(0)) : `HTTP ${status}: ${body?.toString()}`;
      answered(now - sentAt, error);
      if (mayGoOn(now)) next();
      else resolve();
    },
    fail: reject,
  };
  if (mayGoOn(performance.now())) next();
  else resolve();
  return promise;
};

/** Rejects when the work takes longer than it may, or the bench is stopped. */
export const within = async <T>(work: Promise<T>, limitMs: number, signal: AbortSignal): Promise<T> => {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
  const { promise, reject } = Promise.withResolvers<never>();
  const give = (): void => reject(signal.aborted ? signal.reason : new Error(`no answer within ${limitMs} ms`));
  limit.addEventListener('abort', give, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    limit.removeEventListener('abort', give);
  }
};
