/**
 * Gets the parts of a response as they arrive. A body chunk is only valid until the next read; `last` is set when the
 * response is known to end with it, and then `end` follows at once.
 */
export interface ResponseListener {
  head(status: number): void;
  body(chunk: Buffer, last: boolean): void;
  end(): void;
}

/** Where the reader is: in the head, in a body of known length, or in one of the places of a chunked body. */
type Place = 'head' | 'sized' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailer';

/**
 * Reads the responses on one connection, one after the other. It knows the two framings that servers use on a kept
 * connection, Content-Length and chunked, and nothing else of HTTP: what the client does not do, it cannot slow down.
 */
export const createResponseReader = (listener: ResponseListener): ((input: Buffer) => void) => {
  let place: Place = 'head';
  /** Bytes of the body or chunk still to come. */
  let left = 0;
  /** An unfinished line or head of the previous read. */
  let rest: Buffer | undefined;

  const readHead = (head: string): void => {
    listener.head(Number(head.slice(9, 12)));
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    if (length === undefined && !/\r\ntransfer-encoding: *chunked/i.test(head)) {
      throw new Error(`the server sent a response without a length: ${head}`);
    }
    left = Number(length ?? 0);
    place = length === undefined ? 'chunk-size' : 'sized';
    if (length !== undefined && left === 0) finish();
  };

  const finish = (): void => {
    place = 'head';
    listener.end();
  };

  /** Takes as much of the body as is there; answers where the rest starts. */
  const readBody = (input: Buffer, from: number): number => {
    const to = Math.min(input.length, from + left);
    left -= to - from;
    listener.body(input.subarray(from, to), left === 0 && place === 'sized');
    if (left === 0) {
      if (place === 'sized') finish();
      else place = 'chunk-end';
    }
    return to;
  };

  const readLine = (line: string): void => {
    if (place === 'head') readHead(line);
    else if (place === 'chunk-end') place = 'chunk-size';
    else if (place === 'trailer') {
      if (line === '') finish();
    } else {
      left = Number.parseInt(line, 16);
      place = left === 0 ? 'trailer' : 'chunk';
    }
  };

  return (fresh) => {
    const input = rest ? Buffer.concat([rest, fresh]) : fresh;
    rest = undefined;
    let at = 0;
    while (at < input.length) {
      if (place === 'sized' || place === 'chunk') {
        at = readBody(input, at);
        continue;
      }
      const mark = place === 'head' ? '\r\n\r\n' : '\r\n';
      const end = input.indexOf(mark, at, 'latin1');
      if (end < 0) {
        rest = Buffer.from(input.subarray(at));
        return;
      }
      const line = input.toString('latin1', at, end);
      at = end + mark.length;
      readLine(line);
    }
  };
};
