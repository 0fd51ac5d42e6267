import type { HttpAnswer } from './answer.ts';

/** An answer, and whether the connection can take another request. */
export interface ReadAnswer {
  readonly answer: HttpAnswer;
  readonly isReusable: boolean;
}

const HEAD_END = Buffer.from('\r\n\r\n');
const LINE_END = Buffer.from('\r\n');

/**
 * Reads one response. `push` answers it as soon as it is whole (the answer to HEAD has no body); of an event stream, as
 * soon as one event is. A stream that is resumed may have nothing to tell, and is known by its sign of life. It is
 * strict: what is no HTTP throws.
 */
export const createResponseReader = ({ hasBody = true, isResumed = false } = {}) => {
  let bytes: Buffer = Buffer.alloc(0);
  let head: Head | undefined;

  const take = (): ReadAnswer | undefined => {
    head ??= takeHead();
    if (!head) return undefined;
    const body = hasBody ? bodyOf(head, bytes, isResumed ? NEWS_OR_LIFE : NEWS) : NOTHING;
    if (!body) return undefined;
    const { status, headers } = head;
    const isReusable = body.isWhole && headers.get('connection')?.toLowerCase() !== 'close';
    return { answer: { status, headers, body: body.bytes }, isReusable };
  };

  const takeHead = (): Head | undefined => {
    for (;;) {
      const end = bytes.indexOf(HEAD_END);
      if (end === -1) return undefined;
      const found = parseHead(bytes.toString('latin1', 0, end));
      bytes = bytes.subarray(end + HEAD_END.length);
      // 100 Continue comes before the answer.
      if (found.status >= 200) return found;
    }
  };

  return {
    push: (chunk: Buffer): ReadAnswer | undefined => {
      bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
      return take();
    },
  };
};

interface Head {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
}

const parseHead = (text: string): Head => {
  const [first = '', ...lines] = text.split('\r\n');
  const status = /^HTTP\/1\.1 (\d{3})/.exec(first)?.[1];
  if (status === undefined) throw new Error(`This is no HTTP: ${text.slice(0, 200)}`);
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
    }),
  );
  return { status: Number(status), headers };
};

const NOTHING = { bytes: Buffer.alloc(0), isWhole: true };

const NEWS = /^data:.*\n\n/m;
const NEWS_OR_LIFE = /^(?:data:.*|: still here)\n\n/m;

const bodyOf = (
  { status, headers }: Head,
  bytes: Buffer,
  enough: RegExp,
): { bytes: Buffer; isWhole: boolean } | undefined => {
  if (status === 204 || status === 304) return NOTHING;
  const length = headers.get('content-length');
  if (length !== undefined) {
    if (bytes.length > Number(length)) throw new Error('There is more body than the answer announced.');
    return bytes.length === Number(length) ? { bytes, isWhole: true } : undefined;
  }
  if (headers.get('transfer-encoding') !== 'chunked') throw new Error('The answer does not say where it ends.');
  const { body, isWhole } = joinChunks(bytes);
  if (isWhole) return { bytes: body, isWhole };
  return isStream(headers) && enough.test(body.toString('latin1')) ? { bytes: body, isWhole: false } : undefined;
};

export const isStream = (headers: HttpAnswer['headers']): boolean =>
  headers.get('content-type')?.startsWith('text/event-stream') ?? false;

const joinChunks = (bytes: Buffer): { body: Buffer; isWhole: boolean } => {
  const chunks: Buffer[] = [];
  let at = 0;
  for (;;) {
    const end = bytes.indexOf(LINE_END, at);
    if (end === -1) return { body: Buffer.concat(chunks), isWhole: false };
    const length = Number.parseInt(bytes.toString('latin1', at, end), 16);
    if (Number.isNaN(length)) throw new Error('A chunk has no length.');
    const start = end + LINE_END.length;
    if (bytes.length < start + length + LINE_END.length) return { body: Buffer.concat(chunks), isWhole: false };
    if (length === 0) return { body: Buffer.concat(chunks), isWhole: true };
    chunks.push(bytes.subarray(start, start + length));
    at = start + length + LINE_END.length;
  }
};
