import type { Fields } from './field-reader.ts';

export type Verb = 'GET' | 'POST' | 'DELETE';

export type QueryType = 'text' | 'integer' | 'flag';

/** One line of a table of plain HTTP: an address is a call of a method. */
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
