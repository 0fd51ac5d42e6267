import { type handleServerStreamingCall, type handleUnaryCall, Metadata } from '@grpc/grpc-js';

import type { ErrorCode, SealaneError } from '#domain';
import type { StreamItem } from '#engine';
import { keyHasEnded } from '#identity';
import type { CallContext, LiveCall, LiveCalls, StreamResult } from '#protocol';

import { authorizationOf, contextOf } from './call-context.ts';
import type { Gate } from './gate.ts';
import type { GrpcDeps, GrpcOptions } from './grpc-deps.ts';
import type { Rpc, RpcService } from './rpc-service.ts';
import { statusOf } from './status.ts';
import { createStreamWriter } from './stream-writer.ts';

export interface HandlerDeps extends GrpcDeps {
  readonly gate: Gate;
  readonly live: LiveCalls;
  readonly options: GrpcOptions;
  /** What a caller may know of anything thrown. */
  readonly explain: (thrown: unknown) => SealaneError;
}

type Asked = Parameters<handleUnaryCall<Buffer, Buffer>>[0] | Parameters<handleServerStreamingCall<Buffer, Buffer>>[0];

export interface CallHandlers {
  readonly unary: (rpc: Rpc) => handleUnaryCall<Buffer, Buffer>;
  readonly stream: (rpc: Rpc) => handleServerStreamingCall<Buffer, Buffer>;
}

/** Answers calls by the methods of the protocol: bytes to params, JSON text to bytes, refusals to a status. */
export const createCallHandlers = (
  deps: HandlerDeps,
  { versions, extensionsHeader, statuses }: Omit<RpcService, 'rpcs'>,
): CallHandlers => {
  const { gate, live, metrics, unread, log, options } = deps;

  const openContext = (call: Asked, signal: AbortSignal): CallContext =>
    contextOf(
      {
        metadata: call.metadata,
        authority: call.getHost(),
        holder: gate.holderOf(call.metadata),
        versions,
        signal,
      },
      deps,
    );

  /**
   * The messages of A2A have no place for the number of an event, which a reader needs to resume with `last-event-id`.
   * So the initial metadata names the number of the first item, `sealane-first-event`, and every item after it has the
   * next one: the log of a task has no holes. A direct reply is no event and has no number.
   */
  const initialMetadata = ({ extensions }: CallContext, first?: StreamItem): Metadata => {
    const metadata = new Metadata();
    if (extensions.activated.length > 0) metadata.set(extensionsHeader, extensions.activated.join(','));
    if (first !== undefined && first.kind !== 'message') metadata.set('sealane-first-event', String(first.seq));
    return metadata;
  };

  const count = ({ method }: Rpc, call: Asked, outcome: 'ok' | ErrorCode, beganAt: number): void => {
    metrics.called(method, outcome, performance.now() - beganAt);
    if (outcome === 'forbidden') deps.keys.noteForbidden(gate.holderOf(call.metadata).keyId);
    if (!log.isLevelEnabled('debug')) return;
    log.debug({ method, owner: gate.holderOf(call.metadata).owner, outcome, binding: 'grpc' }, 'called');
  };

  const unary =
    (rpc: Rpc): handleUnaryCall<Buffer, Buffer> =>
    (call, callback) => {
      const beganAt = performance.now();
      const liveCall = openLiveCall(live, call);
      const { signal } = liveCall;
      const answer = async (): Promise<Buffer> => {
        const context = openContext(call, signal);
        const result = await rpc.run(rpc.decode(call.request), context);
        if (typeof result !== 'string') throw new Error(`${rpc.method} answered with a stream.`);
        const bytes = rpc.encode(result);
        unread.check(context.caller.keyId, bytes.length);
        call.sendMetadata(initialMetadata(context));
        return bytes;
      };
      answer()
        .then(
          (bytes) => {
            count(rpc, call, 'ok', beganAt);
            callback(null, bytes);
          },
          (thrown: unknown) => {
            const error = deps.explain(signal.aborted ? signal.reason : thrown);
            count(rpc, call, error.code, beganAt);
            callback(statusOf(error, statuses));
          },
        )
        .finally(() => liveCall[Symbol.dispose]());
    };

  const stream = (rpc: Rpc): handleServerStreamingCall<Buffer, Buffer> => {
    const encode = createItemEncoder(rpc);
    return (call) => {
      const beganAt = performance.now();
      const liveCall = openLiveCall(live, call);
      const { signal } = liveCall;
      let isCounted = false;
      const writeAll = async (): Promise<void> => {
        const context = openContext(call, signal);
        const result = await rpc.run(rpc.decode(call.request), context);
        if (typeof result === 'string') throw new Error(`${rpc.method} answered without a stream.`);
        isCounted = true;
        count(rpc, call, 'ok', beganAt);
        const write = createStreamWriter(call, options.stallMs, signal);
        metrics.streamOpened();
        using _watching = deps.keys.watch(authorizationOf(call.metadata), () => liveCall.end(keyHasEnded()));
        try {
          let last: StreamItem | undefined;
          for await (const item of result.items) {
            if (last === undefined) call.sendMetadata(initialMetadata(context, item));
            checkNumber(last, item);
            last = item;
            const bytes = encode(item, result);
            unread.check(context.caller.keyId, bytes.length);
            await write(bytes);
          }
          signal.throwIfAborted();
          if (last === undefined) call.sendMetadata(initialMetadata(context));
        } finally {
          metrics.streamClosed();
        }
      };
      writeAll()
        .then(
          () => call.end(),
          (thrown: unknown) => {
            if (call.cancelled) return;
            const error = deps.explain(signal.aborted ? signal.reason : thrown);
            if (!isCounted) count(rpc, call, error.code, beganAt);
            // The status goes out behind what was written before.
            call.emit('error', statusOf(error, statuses));
          },
        )
        .finally(() => liveCall[Symbol.dispose]());
    };
  };

  return { unary, stream };
};

/** Also told of a call that has been answered: by then nobody listens to its signal. */
const openLiveCall = (live: LiveCalls, call: Asked): LiveCall => {
  const opened = live.open();
  if (call.cancelled) opened.leave();
  else call.on('cancelled', () => opened.leave());
  return opened;
};

/** A reader counts for itself, so an item out of line would make it lose or repeat one: better no stream than that. */
const checkNumber = (last: StreamItem | undefined, item: StreamItem): void => {
  if (last === undefined || last.kind === 'message' || item.kind === 'message') return;
  if (item.seq !== last.seq + 1) throw new Error(`Event ${item.seq} came after event ${last.seq}.`);
};

/** Items as bytes. An event is the same for everybody who reads it, and is encoded once while it is remembered. */
const createItemEncoder = ({ encode }: Rpc): ((item: StreamItem, result: StreamResult) => Buffer) => {
  const known = new WeakMap<object, Buffer>();
  return (item, result) => {
    if (item.kind !== 'event') return encode(result.encode(item));
    let bytes = known.get(item.frames);
    if (bytes === undefined) {
      bytes = encode(result.encode(item));
      known.set(item.frames, bytes);
    }
    return bytes;
  };
};
