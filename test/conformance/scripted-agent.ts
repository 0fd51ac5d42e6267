import { setTimeout as delay } from 'node:timers/promises';

import { type AgentConnector, type Part, type RunIo, sessionKeyOf, type Turn, type TurnEnd } from 'sealane';

/** How long the conformance kits want a task to go on so that they can come back to it. */
const RESUBSCRIBE_MS = 4500;

type Script = (turn: Turn, io: RunIo) => Promise<TurnEnd>;

const TEXT = 'text/plain';
const BYTES = Buffer.from('file content\n').toString('base64');

/** One artifact, then the end. */
const gives =
  (...parts: readonly Part[]): Script =>
  async (turn, io) => {
    await io.emit({ kind: 'artifact', artifact: { artifactId: `artifact-${turn.number}`, parts }, lastChunk: true });
    return { state: 'completed' };
  };

const completes: Script = async (_turn, io) => ({ state: 'completed', message: io.say('Hello from TCK') });
const asks: Script = async (_turn, io) => ({ state: 'input-required', message: io.say('Say something more.') });
const file: Part = { raw: BYTES, filename: 'output.txt', mediaType: TEXT };

const chunks: Script = async (turn, io) => {
  const artifactId = `artifact-${turn.number}`;
  await io.emit({ kind: 'artifact', artifact: { artifactId, parts: [{ text: 'chunk-1 ' }] } });
  await io.emit({
    kind: 'artifact',
    artifact: { artifactId, parts: [{ text: 'chunk-2' }] },
    append: true,
    lastChunk: true,
  });
  return { state: 'completed' };
};

const lasts: Script = async (_turn, io) => {
  await io.emit({ kind: 'status', message: io.say('Working on it.') });
  await delay(RESUBSCRIBE_MS, undefined, { signal: io.signal });
  return { state: 'completed' };
};

const DIRECT = 'tck-message-response';

/**
 * What to do, by the beginning of the message's id, as the kits of the A2A project want it; the first that fits wins.
 * The kit of 1.0 names all its messages `tck-…` and expects whatever it did not name to be completed. The kit of 0.3
 * has names of its own and comes back to its tasks, so for it a task stays open until somebody ends it.
 */
const SCRIPTS: readonly (readonly [prefix: string, script: Script])[] = [
  ['tck-artifact-text', gives({ text: 'Generated text content' })],
  ['tck-artifact-file-url', gives({ url: 'https://example.com/output.txt', filename: 'output.txt', mediaType: TEXT })],
  ['tck-artifact-file', gives(file)],
  ['tck-artifact-data', gives({ data: { key: 'value', count: 42 } })],
  [DIRECT, async (_turn, io) => ({ state: 'completed', message: io.say('Direct message response') })],
  ['tck-input-required', asks],
  ['tck-reject-task', async (_turn, io) => ({ state: 'rejected', message: io.say('rejected') })],
  ['tck-stream-001', gives({ text: 'Stream hello from TCK' })],
  ['tck-stream-003', gives({ text: 'Stream task lifecycle' })],
  ['tck-stream-ordering-001', gives({ text: 'Ordered output' })],
  ['tck-stream-artifact-text', gives({ text: 'Streamed text content' })],
  ['tck-stream-artifact-file', gives(file)],
  ['tck-stream-artifact-chunked', chunks],
  ['test-resubscribe-message-id', lasts],
  ['tck-', completes],
  ['', asks],
];

/** An agent that does what the official conformance kits ask of the server that they test. */
export const createScriptedAgent = (): AgentConnector => ({
  kind: 'scripted',
  session: sessionKeyOf,
  run: async (turn, io) => {
    const [, script = completes] = SCRIPTS.find(([prefix]) => turn.message.messageId.startsWith(prefix)) ?? [];
    try {
      return await script(turn, io);
    } catch (error) {
      if (io.signal.aborted) return { state: 'canceled' };
      throw error;
    }
  },
  // It runs in this process: when the process is gone, so is the run.
  stop: async () => 'dead',
  answersDirectly: ({ messageId }) => messageId.startsWith(DIRECT),
  close: async () => undefined,
});
