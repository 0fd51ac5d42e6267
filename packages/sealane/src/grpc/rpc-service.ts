import type { MethodDefinition } from '@grpc/grpc-js';

import { SealaneError } from '#domain';
import type { Method } from '#protocol';

import type { StatusExceptions } from './status.ts';

/** One rpc: a method of the protocol, and how its JSON becomes protobuf and back. */
export interface Rpc {
  /** `/package.Service/Rpc`. */
  readonly path: string;
  /** The method's name in the protocol, for metrics and logs. */
  readonly method: string;
  readonly run: Method;
  readonly isStream: boolean;
  /** The method's params out of a request; throws `invalid-request` for bytes that are no such message. */
  readonly decode: (bytes: Buffer) => unknown;
  /** A response, or one item of a stream, out of the method's JSON text. */
  readonly encode: (text: string) => Buffer;
}

/** A gRPC service: one version of the protocol. */
export interface RpcService {
  /** Versions that a caller may name here; the first is meant when it names none. */
  readonly versions: readonly string[];
  /** Where an answer names the extensions that are active. */
  readonly extensionsHeader: 'a2a-extensions' | 'x-a2a-extensions';
  /** Errors that have another status here than the table of 1.0 says. */
  readonly statuses: StatusExceptions;
  readonly rpcs: readonly Rpc[];
}

/** What of the SDK's definition of an rpc is used here. */
export type WireDefinition<Request, Response> = Pick<
  MethodDefinition<Request, Response>,
  'path' | 'responseStream' | 'requestDeserialize' | 'responseSerialize'
>;

/**
 * Joins the SDK's protobuf codec of an rpc with its JSON on both sides. Reading is where hostile bytes arrive: whatever
 * the codec throws (a message that ends early, a time that is none, nesting that exhausts the stack) is the caller's
 * mistake, not ours.
 */
export const joinCodecs = <Request, Response>(
  { path, responseStream, requestDeserialize, responseSerialize }: WireDefinition<Request, Response>,
  toParams: (request: Request) => unknown,
  toResponse: (text: string) => Response,
): Pick<Rpc, 'path' | 'isStream' | 'decode' | 'encode'> => ({
  path,
  isStream: responseStream,
  decode: (bytes) => {
    try {
      return toParams(requestDeserialize(bytes));
    } catch (error) {
      if (error instanceof SealaneError) throw error;
      throw new SealaneError(
        'invalid-request',
        `The message is not what ${path} takes, or nests too deeply: send it as the service's protobuf says.`,
        { cause: error },
      );
    }
  },
  encode: (text) => responseSerialize(toResponse(text)),
});
