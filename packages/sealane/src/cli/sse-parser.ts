/** One event of a stream of server-sent events. */
export interface SseEvent {
  readonly id: string | undefined;
  readonly data: string;
}

/** Reads server-sent events as they come. Comments (heartbeats) are `undefined`, so that a reader sees the line is alive. */
export async function* parseSse(body: AsyncIterable<Uint8Array>): AsyncGenerator<SseEvent | undefined> {
  const decoder = new TextDecoder();
  let rest = '';
  let data: string[] = [];
  let id: string | undefined;
  for await (const bytes of body) {
    const chunk = decoder.decode(bytes, { stream: true });
    // A long line arrives in many pieces; joining them only at its end keeps that linear.
    rest += chunk;
    if (!/[\r\n]/.test(chunk)) continue;
    // A lone \r at the end may be half of \r\n.
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) yield { id, data: data.join('\n') };
        data = [];
      } else if (line.startsWith(':')) yield undefined;
      else {
        const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
        if (field === 'data') data.push(value);
        else if (field === 'id' && !value.includes('\0')) id = value;
      }
    }
  }
}
