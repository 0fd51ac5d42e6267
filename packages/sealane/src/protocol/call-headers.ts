import { SealaneError, type Seq } from '#domain';

/** The headers (or metadata, for other bindings) of a call, by lower-case name. */
export type CallHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** What a caller says about a send outside its body. */
export interface SendFacts {
  readonly idempotencyKey?: string;
  readonly traceparent?: string;
  readonly ancestors?: readonly string[];
}

const MAX_ANCESTORS = 32;
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const NOTHING: SendFacts = {};

const refuse = (field: string, why: string): never => {
  throw new SealaneError('invalid-params', `${field} ${why}`, { facts: { field } });
};

const textOf = (value: string | readonly string[] | undefined): string | undefined =>
  value === undefined || typeof value === 'string' ? value : value.join(', ');

export const decodeSendFacts = (headers: CallHeaders): SendFacts => {
  const idempotencyKey = textOf(headers['idempotency-key']);
  const traceparent = textOf(headers['traceparent']);
  const ancestors = textOf(headers['sealane-ancestors']);
  if (idempotencyKey === undefined && traceparent === undefined && ancestors === undefined) return NOTHING;
  if (idempotencyKey !== undefined && !/^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/.test(idempotencyKey)) {
    refuse('Idempotency-Key', 'must be 1 to 255 printable ASCII characters.');
  }
  return {
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    // A trace that is not well formed is left out, as W3C wants it: it is never a reason to refuse a call.
    ...(traceparent !== undefined && TRACEPARENT.test(traceparent) && { traceparent }),
    ...(ancestors !== undefined && ancestors.trim() !== '' && { ancestors: decodeAncestors(ancestors) }),
  };
};

/** They guard against agents that wait for themselves, so a list that cannot be taken whole is refused, not cut. */
const decodeAncestors = (text: string): readonly string[] => {
  const ids = text.split(',').map((id) => id.trim());
  if (ids.length > MAX_ANCESTORS)
    refuse('Sealane-Ancestors', `names more than ${MAX_ANCESTORS} runs: agents call each other too deeply.`);
  for (const id of ids) {
    if (!/^[\x21-\x7e]{1,128}$/.test(id)) refuse('Sealane-Ancestors', 'must be run ids, separated by commas.');
  }
  return ids;
};

/** The number of the last event that the caller has seen. */
export const decodeLastEventId = (headers: CallHeaders): Seq | undefined => {
  const text = textOf(headers['last-event-id'])?.trim();
  if (text === undefined || text === '') return undefined;
  if (!/^\d{1,15}$/.test(text)) refuse('Last-Event-ID', 'must be the number of an event.');
  return Number(text);
};
