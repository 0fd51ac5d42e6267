import { once } from 'node:events';
import { fstatSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { SealaneError } from '#domain';

import { codeOf, noRoom } from './no-room.ts';

/**
 * The standard streams of a program, made before it. Node's own pipes show their inode numbers only while the program
 * lives, which may be over before we look; these are known first, so whoever inherits them can always be found.
 */
export interface ChildStreams {
  readonly stdin: Socket;
  readonly stdout: Socket;
  readonly stderr: Socket;
  /** The program's ends, for `spawn`. */
  readonly ends: readonly [Socket, Socket, Socket];
  /** The inode numbers of the program's ends. */
  readonly inodes: readonly string[];
  /** Lets go of the program's ends: from here on only its processes hold them. */
  handOver(): void;
  destroy(): void;
}

export const openChildStreams = async (): Promise<ChildStreams> => {
  const directory = await mkdtemp(join(tmpdir(), 'sealane-')).catch((error: unknown) => {
    throw new SealaneError(
      'unavailable',
      `No directory can be made in ${tmpdir()}. Set TMPDIR to one that Sealane may write to.`,
      { cause: error },
    );
  });
  // Nobody reads the program's ends here: they are only passed on.
  const server = createServer({ pauseOnConnect: true, allowHalfOpen: true });
  const pairs: Pair[] = [];
  try {
    // The directory is ours alone, so nobody else connects.
    const path = join(directory, 's');
    server.listen(path);
    await once(server, 'listening');
    for (let index = 0; index < 3; index += 1) pairs.push(await openPair(server, path));
  } catch (error) {
    for (const { near, far } of pairs) for (const socket of [near, far]) socket.destroy();
    throw explain(error);
  } finally {
    server.close();
    // What cannot be removed now, for want of descriptors, is an empty directory and no reason to fail.
    await rm(directory, { recursive: true, force: true }).catch(() => undefined);
  }
  const [stdin, stdout, stderr] = pairs as [Pair, Pair, Pair];
  return {
    stdin: stdin.near,
    stdout: stdout.near,
    stderr: stderr.near,
    ends: [stdin.far, stdout.far, stderr.far],
    inodes: pairs.map(({ far }) => String(fstatSync(descriptorOf(far)).ino)),
    handOver: () => {
      for (const { far } of pairs) far.destroy();
    },
    destroy: () => {
      for (const { near, far } of pairs) for (const socket of [near, far]) socket.destroy();
    },
  };
};

interface Pair {
  readonly near: Socket;
  readonly far: Socket;
}

const openPair = async (server: Server, path: string): Promise<Pair> => {
  const near = connect({ path, allowHalfOpen: true });
  // A program that closes its streams early, or is killed, is no error of ours.
  near.on('error', () => undefined);
  const waiting = new AbortController();
  const { signal } = waiting;
  try {
    // Where no descriptor is left for the far end, the system drops it and the server hears nothing: only we do.
    const dropped = once(near, 'end', { signal }).then(() => {
      throw Object.assign(new Error('The connection was dropped.'), { code: 'EMFILE' });
    });
    const made = Promise.all([once(server, 'connection', { signal }), once(near, 'connect', { signal })]);
    const [[far]] = (await Promise.race([made, dropped])) as [[Socket], unknown];
    far.on('error', () => undefined);
    return { near, far };
  } catch (error) {
    near.destroy();
    throw error;
  } finally {
    waiting.abort();
  }
};

const explain = (error: unknown): SealaneError =>
  new SealaneError(
    'unavailable',
    noRoom(error) ??
      `No socket can be made in ${tmpdir()} (${codeOf(error)}). Set TMPDIR to a directory with a short path that Sealane may write to.`,
    { cause: error },
  );

/** Node hands sockets to `spawn` by this number and has no public name for it. */
const descriptorOf = (socket: Socket): number => (socket as unknown as { _handle: { fd: number } })._handle.fd;
