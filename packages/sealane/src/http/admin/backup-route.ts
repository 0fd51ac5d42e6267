import { createReadStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { SealaneError } from '#domain';

import { holderOf } from '../access.ts';
import type { AdminScope } from './admin-scope.ts';

const makeFolder = (parent: string): Promise<string> =>
  mkdtemp(join(parent, 'sealane-backup-')).catch((cause: unknown) => {
    throw new SealaneError(
      'unavailable',
      `The copy cannot be made in ${parent} (${cause instanceof Error ? cause.message : String(cause)}). Start the ` +
        'service with TMPDIR set to a folder that it may write to.',
      { cause },
    );
  });

/** A consistent copy of the store: made beside it while the service runs, sent, and removed again. */
export const addBackupRoute = ({ add, deps, options }: AdminScope): void => {
  const { upkeep, audit, description } = deps.storage;
  add('/backup', {
    GET: async (request, reply) => {
      if (upkeep.backup === undefined) {
        throw new SealaneError(
          'conflict',
          `The store (${description}) is not one file: back it up with its own tools.`,
        );
      }
      const folder = await makeFolder(options.scratchDir ?? tmpdir());
      const cleanUp = (): Promise<void> => rm(folder, { recursive: true, force: true });
      try {
        const file = join(folder, 'tasks.db');
        await upkeep.backup(file);
        const { size } = await stat(file);
        await audit.record({
          at: deps.now(),
          kind: 'backup',
          actor: holderOf(request).keyId,
          subject: 'store',
          facts: { bytes: size },
        });
        const stream = createReadStream(file);
        stream.on('close', () => {
          cleanUp().catch((err: unknown) => deps.log.error({ err, folder }, 'a backup could not be removed'));
        });
        return await reply
          .header('content-type', 'application/octet-stream')
          .header('content-length', size)
          .header('cache-control', 'no-store')
          .send(stream);
      } catch (error) {
        await cleanUp();
        throw error;
      }
    },
  });
};
