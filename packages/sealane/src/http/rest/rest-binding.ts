import type { Method, RestRoute } from '#protocol';

import type { ErrorWording } from '../error-replies.ts';

/** A version of A2A over plain HTTP: its addresses, and how it answers there. */
export interface RestBinding {
  /** Before every path, after the base. */
  readonly prefix: string;
  /** Whether a tenant may stand before the path. */
  readonly hasTenants: boolean;
  readonly versions: readonly string[];
  readonly contentType: string;
  /** The header that names the extensions in use. */
  readonly extensionsHeader: string;
  readonly errors: ErrorWording;
  readonly routes: readonly RestRoute[];
  readonly findMethod: (name: string) => Method | undefined;
}
