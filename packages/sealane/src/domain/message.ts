/** Any value that JSON can hold. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

/**
 * Messages, parts and artifacts have the shape of A2A 1.0 JSON, inside and in the store. The wire's main dialect then
 * needs no translation, and older dialects translate at the edge.
 */
export interface Part {
  readonly text?: string;
  /** base64 */
  readonly raw?: string;
  readonly url?: string;
  readonly data?: Json;
  readonly mediaType?: string;
  readonly filename?: string;
  readonly metadata?: JsonObject;
}

export type Role = 'ROLE_USER' | 'ROLE_AGENT';

export interface Message {
  readonly messageId: string;
  readonly role: Role;
  readonly parts: readonly Part[];
  readonly contextId?: string;
  readonly taskId?: string;
  readonly metadata?: JsonObject;
  readonly extensions?: readonly string[];
  readonly referenceTaskIds?: readonly string[];
}

export interface Artifact {
  readonly artifactId: string;
  readonly parts: readonly Part[];
  readonly name?: string;
  readonly description?: string;
  readonly metadata?: JsonObject;
  readonly extensions?: readonly string[];
}

/** The text of all text parts, in order. */
export const textOf = (parts: readonly Part[]): string => parts.map((part) => part.text ?? '').join('');
