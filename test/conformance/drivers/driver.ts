/** The operations of A2A 1.0, by the names that JSON-RPC and gRPC give them. */
export type Operation =
  | 'SendMessage'
  | 'SendStreamingMessage'
  | 'GetTask'
  | 'ListTasks'
  | 'CancelTask'
  | 'SubscribeToTask'
  | 'CreateTaskPushNotificationConfig'
  | 'GetTaskPushNotificationConfig'
  | 'ListTaskPushNotificationConfigs'
  | 'DeleteTaskPushNotificationConfig'
  | 'GetExtendedAgentCard';

export type Params = Readonly<Record<string, unknown>>;

export interface CallOptions {
  /** Another key than the driver's; null sends none. */
  readonly key?: string | null;
  /** Another version than 1.0; null sends none. */
  readonly version?: string | null;
  /** The value of A2A-Extensions. */
  readonly extensions?: string;
}

/** Why a call was refused, as the binding says it. */
export interface Refusal {
  /** The JSON-RPC code, the HTTP status or the number of the gRPC status. */
  readonly code: number;
  readonly message: string;
  /** Of the ErrorInfo among the details. */
  readonly reason: string | undefined;
  readonly domain: string | undefined;
  /** The types of all details, without `type.googleapis.com/`. */
  readonly details: readonly string[];
  /** The fields that a BadRequest among the details complains of. */
  readonly fields: readonly string[];
}

/** What came back: a result in the JSON of A2A 1.0, whatever it was on the wire, or a refusal. */
export type Answer<T> = {
  /** The extensions that the answer says were used. */
  readonly extensions: string;
} & ({ readonly result: T; readonly error?: undefined } | { readonly error: Refusal; readonly result?: undefined });

/** One item of a stream. */
export interface Item {
  readonly task?: Params;
  readonly message?: Params;
  readonly statusUpdate?: Params;
  readonly artifactUpdate?: Params;
}

/** One way to speak A2A 1.0. All drivers take the same params and give the same answers. */
export interface Driver {
  readonly binding: Binding;
  call<T>(operation: Operation, params: Params, options?: CallOptions): Promise<Answer<T>>;
  /** A refusal before the first item is an answer; the stream begins with that item otherwise. */
  open(operation: Operation, params: Params, options?: CallOptions): Promise<Answer<ItemStream>>;
  close(): void;
}

export const BINDINGS = ['JSONRPC', 'HTTP+JSON', 'GRPC'] as const;
export type Binding = (typeof BINDINGS)[number];

/** Items that a test reads at its own pace. */
export interface ItemStream {
  /** Undefined when the server has ended the stream. */
  next(): Promise<Item | undefined>;
  /** Everything up to the end of the stream. */
  rest(): Promise<readonly Item[]>;
  leave(): void;
}

export const streamOf = (items: AsyncIterator<Item>, leave: () => void): ItemStream => {
  const next: ItemStream['next'] = async () => {
    const { value, done } = await items.next();
    return done ? undefined : value;
  };
  return {
    next,
    rest: async () => {
      const seen: Item[] = [];
      for (let item = await next(); item; item = await next()) seen.push(item);
      return seen;
    },
    leave,
  };
};

interface Detail {
  readonly '@type': string;
  readonly reason?: string;
  readonly domain?: string;
  readonly fieldViolations?: readonly { readonly field: string }[];
}

/** A refusal out of details in JSON, which JSON-RPC and REST share. */
export const refusalOf = (code: number, message: string, details: readonly Detail[] = []): Refusal => {
  const types = details.map((detail) => detail['@type'].replace('type.googleapis.com/', ''));
  const info = details[types.indexOf('google.rpc.ErrorInfo')];
  const violations = details[types.indexOf('google.rpc.BadRequest')]?.fieldViolations ?? [];
  return {
    code,
    message,
    reason: info?.reason,
    domain: info?.domain,
    details: types,
    fields: violations.map(({ field }) => field),
  };
};

/** The headers of HTTP that say what `options` say. */
export const headersOf = (key: string, options: CallOptions): Record<string, string> => {
  const { key: given = key, version = '1.0', extensions } = options;
  return {
    ...(given !== null && { authorization: `Bearer ${given}` }),
    ...(version !== null && { 'a2a-version': version }),
    ...(extensions !== undefined && { 'a2a-extensions': extensions }),
  };
};
