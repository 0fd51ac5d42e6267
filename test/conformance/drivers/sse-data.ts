/** The data of server-sent events, parsed. */
export async function* sseData<T>(body: ReadableStream<Uint8Array>): AsyncGenerator<T, undefined, undefined> {
  let rest = '';
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + text).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const data = block
        .split('\n')
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice('data:'.length).trim());
      if (data.length > 0) yield JSON.parse(data.join('\n')) as T;
    }
  }
  return undefined;
}

export const isEventStream = (response: Response): boolean =>
  response.headers.get('content-type')?.startsWith('text/event-stream') ?? false;

/** Ends the connection of a stream; what is being read then ends, too. */
export const abortable = (): { readonly signal: AbortSignal; readonly leave: () => void } => {
  const controller = new AbortController();
  return { signal: controller.signal, leave: () => controller.abort() };
};
