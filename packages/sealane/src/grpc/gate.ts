import type { Metadata, ServerInterceptor } from '@grpc/grpc-js';

import { SealaneError } from '#domain';
import { createAuthorizer, type KeyHolder } from '#identity';
import { closing, type LiveCalls } from '#protocol';

import { authorizationOf } from './call-context.ts';
import { CountedCall } from './counted-call.ts';
import type { GrpcDeps } from './grpc-deps.ts';
import { statusOf } from './status.ts';

export interface Gate {
  readonly interceptor: ServerInterceptor;
  /** Who sent this metadata; the gate let it through. */
  holderOf(metadata: Metadata): KeyHolder;
}

export interface GateOptions {
  readonly live: LiveCalls;
  readonly requestTimeoutMs: number;
  /** What a caller may know of anything thrown. */
  readonly explain: (thrown: unknown) => SealaneError;
  readonly methodOf: (path: string) => string;
}

/**
 * Asks for the key before anything of the request's message is read, so that strangers cannot fill the memory with
 * messages that will be refused, and gives up on requests that never become whole.
 */
export const createGate = (deps: GrpcDeps, { live, requestTimeoutMs, explain, methodOf }: GateOptions): Gate => {
  const authorize = createAuthorizer(deps);
  const holders = new WeakMap<Metadata, KeyHolder>();

  const interceptor: ServerInterceptor = ({ path }, call) => {
    const beganAt = performance.now();
    const refuse = (thrown: unknown): void => {
      clearTimeout(timer);
      const error = explain(thrown);
      deps.metrics.called(methodOf(path), error.code, performance.now() - beganAt);
      call.sendStatus(statusOf(error));
    };
    const timer = setTimeout(() => refuse(tooSlow(requestTimeoutMs)), requestTimeoutMs);
    const counted: CountedCall = new CountedCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata: (metadata, pass) => {
            if (live.isClosing) {
              refuse(closing());
              return;
            }
            authorize(authorizationOf(metadata)).then((holder) => {
              holders.set(metadata, holder);
              counted.countFor(deps.unread, holder.keyId);
              pass(metadata);
            }, refuse);
          },
          onReceiveMessage: (message, pass) => pass(message),
          onReceiveHalfClose: (pass) => {
            clearTimeout(timer);
            pass();
          },
          onCancel: () => {
            clearTimeout(timer);
            counted.forget();
          },
        }),
    });
    return counted;
  };

  return {
    interceptor,
    holderOf: (metadata) => {
      const holder = holders.get(metadata);
      if (holder === undefined) throw new Error('A call came past the gate.');
      return holder;
    },
  };
};

const tooSlow = (requestTimeoutMs: number): SealaneError =>
  new SealaneError('invalid-request', `The request was not whole after ${requestTimeoutMs / 1000} s: send it again.`);
