import type { Fields, Method } from '#protocol';

import type { ErrorWording } from '../error-replies.ts';

export type Verb = 'GET' | 'POST' | 'DELETE';

/** One line of a route table: an address is a call of a method. */
export interface RestRoute {
  readonly verb: Verb;
  /** `{name}` is a member of the method's params; a word after the last colon is an action on what is named before. */
  readonly path: string;
  readonly method: string;
  /** Whether the body holds the params. Without it they come from the query. */
  readonly body?: 'required' | 'optional';
  readonly query?: Readonly<Record<string, QueryType>>;
  /** Where the binding's JSON is not the method's own. */
  readonly decode?: (params: Fields) => unknown;
  readonly encode?: (result: unknown) => unknown;
}

export type QueryType = 'text' | 'integer' | 'flag';

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
