interface Members {
  [name: string]: unknown;
}

const isMembers = (value: unknown): value is Members => typeof value === 'object' && value !== null;

/**
 * Parses an answer and makes a message of it. `null` is a JSON value like any other in a `data` part, but the SDK's
 * `fromJSON` takes it for an absent member; such parts get their content back. Text without one costs a search.
 */
export const keepNullData = <Message>(text: string, codec: { fromJSON(json: unknown): Message }): Message => {
  const json: unknown = JSON.parse(text);
  const message = codec.fromJSON(json);
  if (text.includes('"data":null')) restore(json, message);
  return message;
};

/** Walks JSON and message side by side: they have the same members, but that a message wraps the chosen one of several. */
const restore = (json: unknown, message: unknown): void => {
  if (!isMembers(json) || !isMembers(message)) return;
  const chosen = message['payload'];
  if (isMembers(chosen)) {
    restore(json[String(chosen['$case'])], chosen['value']);
    return;
  }
  if (json['data'] === null && 'content' in message) message['content'] ??= { $case: 'data', value: null };
  for (const name of Object.keys(message)) {
    // Metadata and data are the caller's own, in the same form on both sides.
    if (name !== 'metadata' && name !== 'content') restore(json[name], message[name]);
  }
};
