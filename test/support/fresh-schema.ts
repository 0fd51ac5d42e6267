import { randomBytes } from 'node:crypto';

import { inject } from 'vitest';

/** A place in the shared server that nobody has used: `openPostgres(freshSchema())`. It is dropped after the run. */
export const freshSchema = (): { readonly url: string; readonly schema: string } => ({
  url: inject('postgresUrl'),
  schema: `${inject('postgresSchemaPrefix')}${randomBytes(4).toString('hex')}`,
});
