/**
 * A service as a process of its own that says how much memory it needs: run with `--expose-gc` and an IPC channel. Its
 * agent writes as many events as the message says, each of two kilobytes. With `grpc` it listens for that as well.
 */
import { setImmediate } from 'node:timers/promises';

import { createSealane, sessionKeyOf, textOf } from 'sealane';

const [file = '', binding] = process.argv.slice(2);

const sealane = await createSealane({
  store: `sqlite:${file}`,
  adminKey: 'the-admin-key',
  settings: { drainMs: 0, artifactBytes: 2 ** 30, taskBytes: 2 ** 30 },
  agents: {
    writer: {
      kind: 'writer',
      session: sessionKeyOf,
      run: async (turn, io) => {
        const count = Number(textOf(turn.message.parts));
        for (let number = 1; number <= count; number += 1) {
          const text = `${number} `.padEnd(2000, '.');
          await io.emit({
            kind: 'artifact',
            artifact: { artifactId: `page-${Math.ceil(number / 100)}`, parts: [{ text }] },
            append: number % 100 !== 1,
          });
        }
        return { state: 'completed' };
      },
      stop: async () => 'dead',
      close: async () => undefined,
    },
  },
});
const url = await sealane.app.listen({ host: '127.0.0.1', port: 0 });
const grpc = binding === 'grpc' ? await sealane.listenGrpc() : undefined;

const tellMemory = async (): Promise<void> => {
  // What a buffer stood on goes a collection later than the buffer.
  for (let count = 0; count < 3; count += 1) {
    globalThis.gc?.();
    await setImmediate();
  }
  const { heapUsed, external } = process.memoryUsage();
  process.send?.({ bytes: heapUsed + external });
};

process.on('message', () => void tellMemory());
process.on('disconnect', () => void sealane.close());
process.send?.({ url, grpc });
